#include "untied_samples.hpp"

#include <algorithm>

namespace qklab::theory {
namespace {

UntiedSampling small_sampling(const Problem& problem, const UntiedOptions& options) {
  UntiedSampling sampling{coarse_sampling(options.solve.qmc), options.dimension,
                          std::max(2, options.samples / 4)};
  if (std::holds_alternative<WishartTeacher>(problem.teacher) && options.dimension > 64) {
    sampling.dimension = 64;
    sampling.samples = options.samples;
  }
  return sampling;
}

}  // namespace

UntiedSamples::UntiedSamples(const Problem& problem, const UntiedOptions& options)
    : problem_(problem),
      options_(options),
      fine_(problem, {options.solve.qmc, options.dimension, options.samples}),
      coarse_(problem, small_sampling(problem, options)) {}

void UntiedSamples::turn_to_weight_decay(double lambda) {
  problem_.lambda = lambda;
  fine_.retarget(problem_);
  coarse_.retarget(problem_);
}

/// The small sample jumps as well, and is not drawn anew: near its fixed point is near enough.
FixedPoint UntiedSamples::approach(const Eigen::VectorXd& start) {
  const SolveOptions& goal = options_.solve;
  FixedPoint point =
      solve_fixed_point([this](const Eigen::VectorXd& x) { return on_coarse(x); }, start,
                        {.tolerance = 1e-4, .max_evaluations = goal.max_iterations, .stop = goal.stop});
  if (point.residual < SampledFixedPoint::near) point.outcome = Outcome::converged;
  return point;
}

double UntiedSamples::competing(const Eigen::VectorXd& x) {
  return mean(fine_.output_side(x)).competing;
}

void UntiedSamples::draw(int redraw) {
  fine_ = UntiedMap(problem_, {redrawn(options_.solve.qmc, redraw), options_.dimension, options_.samples});
}

}  // namespace qklab::theory
