#pragma once

#include <map>
#include <vector>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/core/sobol.hpp"

namespace qklab {

/// Gaussian expectations of hardmax labels as the Bayes-optimal estimator sees them, in white coordinates
/// (docs/theory section 5.4). One entry for each scrambling; the points are fixed at construction, so that
/// all are smooth functions of their arguments.
class HardmaxExpectation {
 public:
  /// Two or three tokens, else InvalidParameter, as for options out of range. A point of the
  /// information, whose integrand holds all labels, stands for up to 4 of `options` (two tokens) or 16
  /// (three).
  HardmaxExpectation(int tokens, const QmcOptions& options);

  /// psi(rho) = V E sum_y Z |g|^2 with w ~ N(0, rho V) on each coordinate and g of BayesResidual: what a
  /// label tells, in units of 1/V. Between 0, psi(0) and r = T(T+1)/2 - 1. Interpolated between sampled
  /// values, which are kept, to 1e-5 or a fraction of the sampling error. Domain: rho >= 0. Its relative
  /// error grows like sqrt(rho), as fewer labels are in doubt.
  std::vector<double> information(double ratio);

  /// The same without interpolation.
  std::vector<double> sampled_information(double ratio) const;

  /// E ||hardmax(h0) - hardmax(h)||_F^2 of scores with overlaps m = q, by `error` = Q0 - q; exact for two
  /// tokens. Domain: 0 <= error <= Q0.
  std::vector<double> test_error(double teacher_self_overlap, double error) const;

 private:
  const std::vector<double>& log_information_at(int node);

  Channel channel_;
  QmcOptions options_;
  std::map<int, std::vector<double>> nodes_;
};

}  // namespace qklab
