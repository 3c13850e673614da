#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "qklab/channel/expectation/untied_output.hpp"
#include "qklab/theory/untied/untied_denoiser.hpp"

namespace qklab::theory {

/// How finely the two sides of the map are sampled.
struct UntiedSampling {
  QmcOptions qmc;
  int dimension;  ///< of the sampled matrices
  int samples;
};

/// The state evolution of untied students as a map F of R^5, in coordinates where it is smooth and
/// unconstrained: x = (m/Q0, log((q_s - m^2/Q0)/Q0), log V_s, log(q_a/Q0), log V_a).
///
/// Where nothing drives the antisymmetric part (8.7) the last two are left out: q_a = 0.
class UntiedMap {
 public:
  UntiedMap(const Problem& problem, const UntiedSampling& sampling);

  /// Turns to a problem that differs in alpha and lambda only.
  void retarget(const Problem& problem);

  /// Number of coordinates, 5 or 3.
  Eigen::Index size() const { return has_antisymmetric_ ? 5 : 3; }

  /// F(x), or nothing where it is undefined.
  std::optional<Eigen::VectorXd> operator()(const Eigen::VectorXd& x);

  /// The output side at x: one entry for each scrambling.
  std::vector<UntiedOutputExpectations> output_side(const Eigen::VectorXd& x);
  std::vector<double> test_error(const Eigen::VectorXd& x) const;

  UntiedConjugateParameters conjugates(const UntiedOutputExpectations& output) const;

  Eigen::VectorXd coordinates(const UntiedOrderParameters& order) const;
  UntiedOrderParameters order_parameters(const Eigen::VectorXd& x) const;
  /// q_s = m^2/Q0 plus the orthogonal part.
  double symmetric_self_overlap(const UntiedOrderParameters& order) const;

  /// The output side of the zero solution S = 0 if the weight decay is large enough for it.
  struct Zero {
    std::vector<UntiedOutputExpectations> outputs;
    std::vector<double> test_errors;
  };
  std::optional<Zero> zero();

  UntiedDenoiser& denoiser() { return denoiser_; }
  const UntiedDenoiser& denoiser() const { return denoiser_; }

 private:
  UntiedOverlaps overlaps(const UntiedOrderParameters& order) const;

  Problem problem_;
  double teacher_self_overlap_;
  bool has_antisymmetric_;
  UntiedOutput output_;
  UntiedDenoiser denoiser_;
};

UntiedOutputExpectations mean(const std::vector<UntiedOutputExpectations>& outputs);
UntiedStudent mean(const std::vector<UntiedStudent>& students);

}  // namespace qklab::theory
