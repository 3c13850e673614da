#include "qklab/theory/untied/untied.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "qklab/core/error.hpp"
#include "qklab/theory/fixed_point/continuation.hpp"
#include "qklab/theory/fixed_point/fixed_point.hpp"
#include "qklab/theory/fixed_point/sampled_fixed_point.hpp"
#include "untied_report.hpp"
#include "untied_samples.hpp"

namespace qklab::theory {
namespace {

/// An evaluation costs singular values of every sampled matrix, and a good start needs few of them.
constexpr int enough_from_a_good_start = 60;

class UntiedSolver {
 public:
  UntiedSolver(const Problem& problem, const UntiedOptions& options)
      : problem_(problem),
        options_(options.solve),
        maps_(problem, options),
        search_(maps_, {.tolerance = options.solve.tolerance,
                        .max_evaluations = options.solve.max_iterations,
                        .max_further = std::min(options.solve.max_iterations, enough_from_a_good_start),
                        .stop = options.solve.stop}) {}

  UntiedSolution solve() {
    const std::optional<UntiedMap::Zero> zero = maps_.fine().zero();
    if (zero && is_convex()) return zero_solution(problem_, maps_.fine(), *zero);
    FixedPoint point = search_.find(default_start());
    if (goes_on(point)) point = search_.find(start_near_zero());
    if (goes_on(point)) point = find_by_continuation(point);
    UntiedSolution solution = report(point);
    if (!zero || !zero_wins(*zero, solution)) return solution;
    solution = zero_solution(problem_, maps_.fine(), *zero);
    solution.iterations = search_.evaluations();
    return solution;
  }

 private:
  Eigen::VectorXd start(double overlap, double variance, double susceptibility);
  Eigen::VectorXd default_start() { return start(0.6, 0.2, 0.5 / std::max(problem_.alpha, 0.1)); }
  /// Where the map is defined for any weight decay below the one that gives S = 0, and from where it leads
  /// away.
  Eigen::VectorXd start_near_zero() { return start(1e-3, 1e-5, 1e-3); }
  FixedPoint find_by_continuation(const FixedPoint& failed);
  UntiedSolution report(const FixedPoint& point);

  bool is_convex() const { return problem_.activation == Activation::identity; }
  bool goes_on(const FixedPoint& point) const {
    return !is_answer(point.outcome) && !options_.stop.requested();
  }
  bool zero_wins(const UntiedMap::Zero& zero, const UntiedSolution& solution) const {
    if (!is_answer(solution.outcome)) return true;
    return problem_.alpha * mean(zero.outputs).loss <=
           solution.train_loss.value + solution.regularization.value;
  }

  Problem problem_;
  SolveOptions options_;
  UntiedSamples maps_;
  SampledFixedPoint search_;
};

FixedPoint UntiedSolver::find_by_continuation(const FixedPoint& failed) {
  return theory::find_by_continuation(
      {.lambda = problem_.lambda,
       .start = default_start(),
       .turn_to = [this](double lambda) { maps_.turn_to_weight_decay(lambda); },
       .find = [this](const Eigen::VectorXd& from) { return search_.find(from); },
       .stop = options_.stop},
      failed);
}

Eigen::VectorXd UntiedSolver::start(double overlap, double variance, double susceptibility) {
  Eigen::VectorXd x(5);
  x << overlap, std::log(variance), std::log(susceptibility), std::log(0.2 * variance),
      std::log(susceptibility);
  return x.head(maps_.fine().size());
}

UntiedSolution UntiedSolver::report(const FixedPoint& point) {
  UntiedSolution solution;
  solution.problem = problem_;
  solution.outcome = point.outcome;
  solution.residual = point.residual;
  solution.iterations = search_.evaluations();
  solution.redraws = search_.redraws();
  solution.sampled_dimension = maps_.fine().denoiser().dimension();
  solution.samples = maps_.fine().denoiser().samples();
  if (point.x.allFinite()) fill_observables(point.x, maps_, solution);
  return solution;
}

UntiedOptions checked(UntiedOptions options, const Problem& problem) {
  options.solve = checked(options.solve);
  if (!std::holds_alternative<WishartTeacher>(problem.teacher)) options.dimension = problem.dimension;
  return options;
}

Problem checked_untied(const Problem& problem) {
  qklab::checked(problem);
  if (problem.parametrization != Parametrization::untied) {
    throw InvalidParameter("parametrization", to_string(problem.parametrization), "must be untied here");
  }
  if (problem.tokens < 2) {
    throw InvalidParameter("tokens", std::to_string(problem.tokens),
                           "the antisymmetric part of one token is invisible: must be >= 2 here");
  }
  return problem;
}

}  // namespace

UntiedSolution solve_untied(const Problem& problem, const UntiedOptions& options) {
  return UntiedSolver(checked_untied(problem), checked(options, problem)).solve();
}

bool is_sampled(const Problem& problem) {
  return problem.parametrization == Parametrization::untied && problem.tokens >= 2;
}

Solution as_solution(const UntiedSolution& untied) {
  Solution solution;
  solution.problem = untied.problem;
  solution.overlap = untied.overlap;
  solution.self_overlap = untied.symmetric_self_overlap;
  solution.antisymmetric_self_overlap = untied.antisymmetric_self_overlap;
  solution.susceptibility = untied.symmetric_susceptibility;
  solution.overlap_hat = untied.overlap_hat;
  solution.self_overlap_hat = untied.symmetric_self_overlap_hat;
  solution.susceptibility_hat = untied.symmetric_susceptibility_hat;
  solution.test_error = untied.test_error;
  solution.train_loss = untied.train_loss;
  solution.train_error = untied.train_error;
  solution.regularization = untied.regularization;
  solution.zero_fraction = untied.zero_fraction;
  solution.stability = untied.stability;
  solution.stable = untied.outcome == Outcome::zero_solution || untied.stability.value < 1;
  solution.estimator_gap = untied.estimator_gap;
  solution.competing_minima = untied.competing_minima;
  solution.unconverged_proximals = untied.unconverged_proximals;
  solution.spectrum.teacher = teacher_law(untied.problem);
  solution.sampled_dimension = untied.sampled_dimension;
  solution.outcome = untied.outcome;
  solution.iterations = untied.iterations;
  solution.redraws = untied.redraws;
  solution.residual = untied.residual;
  return solution;
}

}  // namespace qklab::theory
