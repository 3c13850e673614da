#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/theory/erm/denoiser.hpp"

namespace qklab::theory {

/// Which formula gives the divergences E div g (docs/theory section 2): Stein's identity holds also where the
/// proximal map jumps; implicit differentiation is sharper near recovery and misses jumps.
enum class DivergenceEstimator { stein, implicit };

/// Quantities whose standard errors are propagated, as places of a vector.
enum Observable : Eigen::Index {
  overlap_hat,
  self_overlap_hat,
  susceptibility_hat,
  test_error,
  train_loss,
  regularization,
  zero_fraction_of_student,
  stability,
  observable_count
};

/// One evaluation of the map with everything that follows from it, for one sample of the output side.
struct Observation {
  Eigen::VectorXd coordinates;  ///< F(x)
  Eigen::VectorXd values;       ///< by Observable
  DenoisedStudent student;
};

/// The state evolution as a map F of R^3, in coordinates where it is smooth and unconstrained:
/// x = (m/Q0, log((q - m^2/Q0)/Q0), log V).
///
/// Keeps its sampling points, so that F is deterministic; they can serve several problems that differ in
/// alpha, lambda, teacher and width only.
class StateEvolutionMap {
 public:
  StateEvolutionMap(const Problem& problem, const QmcOptions& qmc)
      : StateEvolutionMap(problem, Denoiser(problem), qmc) {}
  /// The same with the matrix side of `problem` given.
  StateEvolutionMap(const Problem& problem, Denoiser denoiser, const QmcOptions& qmc);

  /// True when the sampling points also serve `problem`.
  bool serves(const Problem& problem) const;
  /// Turns to another problem that it serves.
  void retarget(const Problem& problem);

  /// F(x), or nothing where it is undefined.
  std::optional<Eigen::VectorXd> operator()(const Eigen::VectorXd& x);

  /// F(x) and all observables: first for the mean over scramblings, then for each scrambling.
  std::optional<std::vector<Observation>> observe(const Eigen::VectorXd& x);

  /// The output side at x, one entry for each scrambling.
  std::vector<OutputExpectations> output_side(const Eigen::VectorXd& x);

  /// The zero solution S = 0, if the weight decay is large enough for it.
  std::optional<std::vector<Observation>> observe_zero();

  /// Chooses the estimator for all later evaluations from the output side at x.
  void choose_estimator(const Eigen::VectorXd& x);
  void use(DivergenceEstimator estimator) { estimator_ = estimator; }
  DivergenceEstimator estimator() const { return estimator_; }

  const Denoiser& denoiser() const { return denoiser_; }

  Eigen::VectorXd coordinates(const OrderParameters& order) const;
  OrderParameters order_parameters(const Eigen::VectorXd& x) const;
  /// q = m^2/Q0 plus the orthogonal part.
  double self_overlap(const OrderParameters& order) const;

 private:
  ScoreOverlaps overlaps(const OrderParameters& order) const;
  ConjugateParameters conjugates(const OutputExpectations& output) const;
  std::optional<Observation> observation(const OutputExpectations& output, double test_error_value) const;

  Problem problem_;
  double teacher_self_overlap_;
  Denoiser denoiser_;
  OutputExpectation expectation_;
  DivergenceEstimator estimator_ = DivergenceEstimator::stein;
};

/// Mean of output expectations over scramblings, member by member.
OutputExpectations mean_over_scramblings(const std::vector<OutputExpectations>& outputs);

}  // namespace qklab::theory
