#pragma once

#include <memory>
#include <vector>

#include "qklab/channel/bayes/hardmax_expectation.hpp"
#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/core/problem.hpp"

namespace qklab::theory {

/// What the labels tell of S0: the output side of the Bayes-optimal state evolution, (5.1) and (5.6).
///
/// Keeps sampled points and values as long as the activation, the number of tokens and beta stay the same.
class BayesChannel {
 public:
  explicit BayesChannel(const QmcOptions& qmc) : qmc_(qmc) {}

  /// Throws like require_bayes_reference().
  void set(const Problem& problem);

  /// qhat when Tr((S - S0)^2)/d = Q0 - q is `error`, for each scrambling; one entry where it is exact.
  std::vector<double> overlap_hat(double error);

  /// E ||sigma(h0) - sigma(h)||_F^2 at m = q, for each scrambling or exactly.
  std::vector<double> test_error(double error);

  double kappa0() const { return kappa0_; }
  /// Delta of (5.1).
  double noise() const { return noise_; }
  /// 2 alpha r.
  double visible_samples() const { return 2 * problem_.alpha * channel_.score_dimension(); }
  /// Labels that show the noisy scores.
  bool is_linear() const { return channel_.activation != Activation::hardmax; }

 private:
  QmcOptions qmc_;
  Problem problem_;
  Channel channel_;
  double kappa0_ = 0;
  double noise_ = 0;
  std::unique_ptr<HardmaxExpectation> hardmax_;
  std::unique_ptr<OutputExpectation> differentiable_;
};

/// Throws InvalidParameter for a problem whose posterior is not known.
Channel bayes_channel_of(const Problem& problem);

}  // namespace qklab::theory
