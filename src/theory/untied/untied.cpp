#include "qklab/theory/untied/untied.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "qklab/core/error.hpp"
#include "qklab/theory/fixed_point/fixed_point.hpp"
#include "untied_errors.hpp"
#include "untied_map.hpp"

namespace qklab::theory {
namespace {

/// Residual of a map that has a fixed point nearby, although a jump may hide it.
constexpr double near = 1e-2;

class UntiedSolver {
 public:
  UntiedSolver(const Problem& problem, const UntiedOptions& options)
      : problem_(problem),
        options_(options),
        fine_(problem, {options.solve.qmc, options.dimension, options.samples}),
        coarse_(problem, coarse_sampling(problem, options)) {}

  UntiedSolution solve() {
    const std::optional<UntiedMap::Zero> zero = fine_.zero();
    if (zero && is_convex()) return report_zero(*zero);
    FixedPoint point = find_past_jumps(default_start());
    if (!is_answer(point.outcome) && !options_.solve.stop.requested()) point = find(start_near_zero());
    if (!is_answer(point.outcome) && !options_.solve.stop.requested()) point = find_by_continuation(point);
    UntiedSolution solution = report(point);
    if (zero && zero_wins(*zero, solution)) return report_zero(*zero);
    return solution;
  }

 private:
  /// A smaller sample of the same map: cheap first iterations and slopes.
  static UntiedSampling coarse_sampling(const Problem& problem, const UntiedOptions& options) {
    UntiedSampling sampling{options.solve.qmc, options.dimension, std::max(2, options.samples / 4)};
    sampling.qmc.log2_points = std::max(8, options.solve.qmc.log2_points - 3);
    sampling.qmc.scramblings = 2;
    if (std::holds_alternative<WishartTeacher>(problem.teacher) && options.dimension > 64) {
      sampling.dimension = 64;
      sampling.samples = options.samples;
    }
    return sampling;
  }

  Eigen::VectorXd start(double overlap, double variance, double susceptibility) const {
    Eigen::VectorXd x(5);
    x << overlap, std::log(variance), std::log(susceptibility), std::log(0.2 * variance),
        std::log(susceptibility);
    return x.head(fine_.size());
  }
  Eigen::VectorXd default_start() const { return start(0.6, 0.2, 0.5 / std::max(problem_.alpha, 0.1)); }
  /// Where the map is defined for any weight decay below the one that gives S = 0, and from where it leads
  /// away.
  Eigen::VectorXd start_near_zero() const { return start(1e-3, 1e-5, 1e-3); }

  FixedPoint find(const Eigen::VectorXd& from);
  FixedPoint find_past_jumps(const Eigen::VectorXd& from);
  FixedPoint find_by_continuation(const FixedPoint& failed);
  UntiedSolution report(const FixedPoint& point);
  UntiedSolution report_zero(const UntiedMap::Zero& zero) const;
  void fill(const Eigen::VectorXd& x, UntiedSolution& solution);
  Estimate stability(const std::vector<UntiedOutputExpectations>& outputs,
                     const UntiedConjugateParameters& hats);

  bool is_convex() const { return problem_.activation == Activation::identity; }
  bool zero_wins(const UntiedMap::Zero& zero, const UntiedSolution& solution) const {
    if (!is_answer(solution.outcome)) return true;
    return problem_.alpha * mean(zero.outputs).loss <=
           solution.train_loss.value + solution.regularization.value;
  }

  Problem problem_;
  UntiedOptions options_;
  UntiedMap fine_;
  UntiedMap coarse_;
  int evaluations_ = 0;
};

/// First on the small sample, whose fixed point and Jacobian make the large one a matter of a few steps.
FixedPoint UntiedSolver::find(const Eigen::VectorXd& from) {
  const auto on_coarse = [this](const Eigen::VectorXd& x) { return coarse_(x); };
  const auto on_fine = [this](const Eigen::VectorXd& x) { return fine_(x); };
  const SolveOptions& goal = options_.solve;
  FixedPoint coarse = solve_fixed_point(
      on_coarse, from, {.tolerance = 1e-4, .max_evaluations = goal.max_iterations, .stop = goal.stop});
  evaluations_ += coarse.evaluations;
  if (!is_answer(coarse.outcome) && !(coarse.residual < near)) return coarse;
  const FixedPointOptions exact{
      .tolerance = goal.tolerance, .max_evaluations = goal.max_iterations, .stop = goal.stop};
  FixedPoint fine{coarse.x, coarse.residual, 0, Outcome::stagnated};
  if (const auto value = on_coarse(coarse.x)) {
    if (const auto slope = jacobian(on_coarse, coarse.x, *value, 1e-4)) {
      fine = refine_fixed_point(on_fine, coarse.x, *slope, exact);
    }
  }
  evaluations_ += fine.evaluations;
  if (fine.outcome == Outcome::stagnated) {
    constexpr int enough_from_a_good_start = 60;
    FixedPointOptions last = exact;
    last.max_evaluations = std::min(last.max_evaluations, enough_from_a_good_start);
    fine = solve_fixed_point(on_fine, fine.x, last);
    evaluations_ += fine.evaluations;
  }
  return fine;
}

/// A sampled point whose proximal map jumps right at the fixed point leaves the sampled map without one. Then
/// the points are drawn anew, as a function of the seed: theirs jump elsewhere.
FixedPoint UntiedSolver::find_past_jumps(const Eigen::VectorXd& from) {
  constexpr int draws = 4;
  FixedPoint point = find(from);
  UntiedSampling sampling{options_.solve.qmc, options_.dimension, options_.samples};
  for (int draw = 1;
       draw < draws && !is_answer(point.outcome) && point.residual < near && !options_.solve.stop.requested();
       ++draw) {
    if (mean(fine_.output_side(point.x)).competing == 0) break;
    sampling.qmc.seed = options_.solve.qmc.seed + (static_cast<std::uint64_t>(draw) << 32);
    fine_ = UntiedMap(problem_, sampling);
    point = find(point.x);
  }
  return point;
}

/// Weight decay strong enough for an easy problem, then down to the wanted one, each start from the last
/// solution.
FixedPoint UntiedSolver::find_by_continuation(const FixedPoint& failed) {
  constexpr int tries = 5;
  const Problem target = problem_;
  const auto turn_to = [this](const Problem& problem) {
    problem_ = problem;
    fine_.retarget(problem);
    coarse_.retarget(problem);
  };
  Problem eased = target;
  eased.lambda = std::max(target.lambda, 1e-4);
  FixedPoint point;
  for (int k = 0; k < tries && !is_answer(point.outcome); ++k) {
    eased.lambda *= 4;
    turn_to(eased);
    point = find(default_start());
  }
  while (is_answer(point.outcome) && eased.lambda > target.lambda && !options_.solve.stop.requested()) {
    eased.lambda = std::max(target.lambda, eased.lambda / 2);
    turn_to(eased);
    point = find(point.x);
  }
  const bool reached = eased.lambda == target.lambda;
  turn_to(target);
  return reached && point.residual < failed.residual ? point : failed;
}

UntiedSolution UntiedSolver::report(const FixedPoint& point) {
  UntiedSolution solution;
  solution.problem = problem_;
  solution.outcome = point.outcome;
  solution.residual = point.residual;
  solution.iterations = evaluations_;
  solution.sampled_dimension = fine_.denoiser().dimension();
  solution.samples = fine_.denoiser().samples();
  if (point.x.allFinite()) fill(point.x, solution);
  return solution;
}

void UntiedSolver::fill(const Eigen::VectorXd& x, UntiedSolution& solution) {
  UntiedSides sides{x, fine_.output_side(x), fine_.test_error(x), {}};
  const UntiedOutputExpectations output = mean(sides.outputs);
  const auto students = fine_.denoiser()(fine_.conjugates(output));
  if (!students) {
    solution.outcome = Outcome::diverged;
    return;
  }
  sides.students = *students;
  solution.singular_values = fine_.denoiser().singular_values();
  const UntiedReplicas all = replicas(sides, fine_, coarse_);
  const auto estimate = [&](const std::function<double(const UntiedVariables&)>& quantity) {
    const auto error = [&](const std::vector<UntiedVariables>& of) {
      std::vector<double> values;
      for (const UntiedVariables& one : of) values.push_back(quantity(one));
      return mean_and_error(values).se;
    };
    return Estimate{quantity(all.mean), std::hypot(error(all.of_scramblings), error(all.of_matrices))};
  };
  const auto order = [&](double UntiedOrderParameters::*member) {
    return estimate([&, member](const UntiedVariables& v) { return fine_.order_parameters(v.x).*member; });
  };
  const auto conjugate = [&](double UntiedConjugateParameters::*member) {
    return estimate([member](const UntiedVariables& v) { return v.hats.*member; });
  };
  const bool has_antisymmetric = fine_.size() == 5;
  solution.overlap = order(&UntiedOrderParameters::overlap);
  solution.symmetric_self_overlap = estimate(
      [&](const UntiedVariables& v) { return fine_.symmetric_self_overlap(fine_.order_parameters(v.x)); });
  solution.antisymmetric_self_overlap = order(&UntiedOrderParameters::antisymmetric);
  solution.symmetric_susceptibility = order(&UntiedOrderParameters::symmetric_susceptibility);
  solution.overlap_hat = conjugate(&UntiedConjugateParameters::overlap_hat);
  solution.symmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::symmetric_hat);
  solution.symmetric_susceptibility_hat = conjugate(&UntiedConjugateParameters::symmetric_susceptibility_hat);
  solution.antisymmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::antisymmetric_hat);
  const Estimate unknown{std::numeric_limits<double>::quiet_NaN(), 0};
  solution.antisymmetric_susceptibility =
      has_antisymmetric ? order(&UntiedOrderParameters::antisymmetric_susceptibility) : unknown;
  solution.antisymmetric_susceptibility_hat =
      has_antisymmetric ? conjugate(&UntiedConjugateParameters::antisymmetric_susceptibility_hat) : unknown;
  solution.test_error = estimate([](const UntiedVariables& v) { return v.test_error; });
  solution.train_error = estimate([](const UntiedVariables& v) { return v.loss; });
  solution.train_loss = {problem_.alpha * solution.train_error.value,
                         problem_.alpha * solution.train_error.se};
  solution.regularization = estimate([](const UntiedVariables& v) { return v.penalty; });
  solution.zero_fraction = estimate([](const UntiedVariables& v) { return v.zero_fraction; });
  solution.stability = stability(sides.outputs, fine_.conjugates(output));
  solution.estimator_gap = std::abs(output.symmetric_divergence_implicit / output.symmetric_divergence - 1);
  solution.competing_minima = output.competing;
  solution.unconverged_proximals = output.unconverged;
}

/// Largest eigenvalue of the growth of squared perturbations, sector by sector, in one step (8.15).
Estimate UntiedSolver::stability(const std::vector<UntiedOutputExpectations>& outputs,
                                 const UntiedConjugateParameters& hats) {
  const auto responses = fine_.denoiser().mean_square_responses(hats);
  if (!responses) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const bool has_antisymmetric = fine_.size() == 5;
  const auto growth = [&](const UntiedOutputExpectations& output, const Eigen::Matrix2d& response) {
    Eigen::Matrix2d jacobian;
    jacobian << output.symmetric_jacobian, output.mixed_jacobian, output.mixed_jacobian,
        output.antisymmetric_jacobian;
    const Eigen::Matrix2d product = 2 * problem_.alpha * response * jacobian;
    if (!has_antisymmetric) return product(0, 0);
    const double half_trace = 0.5 * product.trace();
    return half_trace + std::sqrt(std::max(0.0, half_trace * half_trace - product.determinant()));
  };
  Eigen::Matrix2d mean_response = Eigen::Matrix2d::Zero();
  for (const Eigen::Matrix2d& one : *responses) mean_response += one / static_cast<double>(responses->size());
  std::vector<double> of_scramblings;
  for (const UntiedOutputExpectations& one : outputs) of_scramblings.push_back(growth(one, mean_response));
  std::vector<double> of_matrices;
  for (const Eigen::Matrix2d& one : *responses) of_matrices.push_back(growth(mean(outputs), one));
  return {growth(mean(outputs), mean_response),
          std::hypot(mean_and_error(of_scramblings).se, mean_and_error(of_matrices).se)};
}

UntiedSolution UntiedSolver::report_zero(const UntiedMap::Zero& zero) const {
  UntiedSolution solution;
  solution.problem = problem_;
  solution.outcome = Outcome::zero_solution;
  solution.iterations = evaluations_;
  solution.sampled_dimension = options_.dimension;
  solution.samples = options_.samples;
  const auto estimate = [&](const std::function<double(std::size_t)>& quantity) {
    std::vector<double> values;
    for (std::size_t s = 0; s < zero.outputs.size(); ++s) values.push_back(quantity(s));
    return mean_and_error(values);
  };
  const auto conjugate = [&](double UntiedConjugateParameters::*member) {
    return estimate([&, member](std::size_t s) { return fine_.conjugates(zero.outputs[s]).*member; });
  };
  solution.overlap_hat = conjugate(&UntiedConjugateParameters::overlap_hat);
  solution.symmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::symmetric_hat);
  solution.symmetric_susceptibility_hat = conjugate(&UntiedConjugateParameters::symmetric_susceptibility_hat);
  solution.antisymmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::antisymmetric_hat);
  solution.antisymmetric_susceptibility_hat =
      conjugate(&UntiedConjugateParameters::antisymmetric_susceptibility_hat);
  solution.test_error = estimate([&](std::size_t s) { return zero.test_errors[s]; });
  solution.train_error = estimate([&](std::size_t s) { return zero.outputs[s].loss; });
  solution.train_loss = {problem_.alpha * solution.train_error.value,
                         problem_.alpha * solution.train_error.se};
  solution.zero_fraction = {1, 0};
  return solution;
}

UntiedOptions checked(UntiedOptions options, const Problem& problem) {
  options.solve.qmc = qklab::checked(options.solve.qmc);
  if (!(options.solve.tolerance > 0) || !std::isfinite(options.solve.tolerance)) {
    throw InvalidParameter("tolerance", options.solve.tolerance, "must be > 0 and finite");
  }
  if (options.solve.max_iterations < 1) {
    throw InvalidParameter("max_iterations", options.solve.max_iterations, "must be >= 1");
  }
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
  solution.residual = untied.residual;
  return solution;
}

}  // namespace qklab::theory
