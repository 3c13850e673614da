#include "qklab/theory/erm/state_evolution.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nested_brackets.hpp"
#include "qklab/theory/fixed_point/continuation.hpp"
#include "qklab/theory/fixed_point/fixed_point.hpp"
#include "qklab/theory/fixed_point/sampled_fixed_point.hpp"
#include "qklab/theory/untied/untied.hpp"
#include "solution_report.hpp"
#include "state_evolution_samples.hpp"

namespace qklab::theory {
namespace {

/// Solves one problem.
class Solver {
 public:
  Solver(Problem problem, const SolveOptions& options, StateEvolutionSamples& maps)
      : problem_(std::move(problem)),
        options_(options),
        maps_(maps),
        search_(maps, {.tolerance = options.tolerance,
                       .max_evaluations = options.max_iterations,
                       .max_further = options.max_iterations,
                       .stop = options.stop}) {}

  Solution solve(const std::optional<Solution>& neighbour) {
    maps_.turn_to(problem_);
    const std::optional<std::vector<Observation>> zero = maps_.fine().observe_zero();
    if (zero && is_convex()) return zero_solution(problem_, *zero);
    FixedPoint point = find(neighbour ? start_from(*neighbour) : default_start());
    if (goes_on(point)) point = find(start_near_zero());
    if (goes_on(point)) point = find_by_brackets(point);
    if (goes_on(point)) point = find_by_continuation(point);
    Solution solution = report(point);
    if (!zero || !zero_wins(*zero, solution)) return solution;
    solution = zero_solution(problem_, *zero);
    solution.iterations = evaluations();
    return solution;
  }

 private:
  FixedPoint find(const Eigen::VectorXd& start) {
    return is_convex() ? find_in_closed_form(start) : search_.find(start);
  }
  FixedPoint find_in_closed_form(const Eigen::VectorXd& start);
  FixedPoint find_by_brackets(const FixedPoint& failed);
  FixedPoint find_by_continuation(const FixedPoint& failed);
  Eigen::VectorXd default_start() const;
  /// Where the map is defined for any weight decay below the one that gives S = 0, and from where it leads
  /// away.
  static Eigen::VectorXd start_near_zero() { return Eigen::Vector3d(1e-3, std::log(1e-5), std::log(1e-3)); }
  Eigen::VectorXd start_from(const Solution& neighbour) const;
  Solution report(const FixedPoint& point);

  /// The map is exact, and has one fixed point.
  bool is_convex() const { return problem_.activation == Activation::identity; }
  bool goes_on(const FixedPoint& point) const {
    return !is_answer(point.outcome) && !options_.stop.requested();
  }
  static bool zero_wins(const std::vector<Observation>& zero, const Solution& solution) {
    if (!is_answer(solution.outcome)) return true;
    return zero.front().values[train_loss] <= solution.train_loss.value + solution.regularization.value;
  }
  int evaluations() const { return search_.evaluations() + exact_evaluations_; }

  Problem problem_;
  SolveOptions options_;
  StateEvolutionSamples& maps_;
  SampledFixedPoint search_;
  int exact_evaluations_ = 0;
};

/// Iterates down to rounding, which near recovery lies above any fixed goal, and is judged by the tolerance
/// asked for.
FixedPoint Solver::find_in_closed_form(const Eigen::VectorXd& start) {
  const auto map = [this](const Eigen::VectorXd& x) { return maps_.on_fine(x); };
  FixedPoint point = solve_fixed_point(map, start,
                                       {.tolerance = std::min(options_.tolerance, 1e-12),
                                        .max_evaluations = options_.max_iterations,
                                        .stop = options_.stop});
  if (point.residual <= options_.tolerance) point.outcome = Outcome::converged;
  exact_evaluations_ += point.evaluations;
  return point;
}

FixedPoint Solver::find_by_brackets(const FixedPoint& failed) {
  const std::optional<OrderParameters> order = solve_by_brackets(problem_);
  if (!order) return failed;
  const FixedPoint point = find_in_closed_form(maps_.fine().coordinates(*order));
  return point.residual < failed.residual ? point : failed;
}

FixedPoint Solver::find_by_continuation(const FixedPoint& failed) {
  return theory::find_by_continuation(
      {.lambda = problem_.lambda,
       .start = default_start(),
       .turn_to = [this](double lambda) { maps_.turn_to_weight_decay(lambda); },
       .find = [this](const Eigen::VectorXd& from) { return find(from); },
       .stop = options_.stop},
      failed);
}

Eigen::VectorXd Solver::default_start() const {
  return Eigen::Vector3d(0.6, std::log(0.2), std::log(0.5 / std::max(problem_.alpha, 0.1)));
}

Eigen::VectorXd Solver::start_from(const Solution& neighbour) const {
  const double m = neighbour.overlap.value;
  const double orthogonal = neighbour.self_overlap.value - m * m / teacher_self_overlap(neighbour.problem);
  const Eigen::VectorXd x = maps_.fine().coordinates({m, orthogonal, neighbour.susceptibility.value});
  return x.allFinite() ? x : default_start();
}

Solution Solver::report(const FixedPoint& point) {
  Solution solution;
  solution.problem = problem_;
  solution.outcome = point.outcome;
  solution.residual = point.residual;
  solution.iterations = evaluations();
  solution.redraws = search_.redraws();
  if (point.x.allFinite()) fill_observables(point.x, maps_, solution);
  return solution;
}

}  // namespace

struct StateEvolution::State {
  SolveOptions options;
  StateEvolutionSamples maps;
};

StateEvolution::~StateEvolution() = default;
StateEvolution::StateEvolution(StateEvolution&&) noexcept = default;
StateEvolution& StateEvolution::operator=(StateEvolution&&) noexcept = default;

StateEvolution::StateEvolution(const SolveOptions& options)
    : state_(std::make_unique<State>(State{options, StateEvolutionSamples(checked(options))})) {}

Solution StateEvolution::solve(const Problem& problem, const std::optional<Solution>& neighbour) {
  qklab::checked(problem);
  if (is_sampled(problem)) return as_solution(solve_untied(problem, {.solve = options()}));
  const bool is_start = neighbour && neighbour->outcome == Outcome::converged;
  return Solver(problem, options(), state_->maps).solve(is_start ? neighbour : std::nullopt);
}

const SolveOptions& StateEvolution::options() const {
  return state_->options;
}

Solution solve(const Problem& problem, const SolveOptions& options,
               const std::optional<Solution>& neighbour) {
  return StateEvolution(options).solve(problem, neighbour);
}

std::vector<Solution> solve_sweep(const std::vector<Problem>& problems, const SolveOptions& options,
                                  const ProgressCallback& progress) {
  StateEvolution evolution(options);
  std::vector<Solution> solutions;
  for (const Problem& problem : problems) {
    if (options.stop.requested()) break;
    solutions.push_back(
        evolution.solve(problem, solutions.empty() ? std::nullopt : std::optional(solutions.back())));
    if (progress) {
      progress({"theory", static_cast<double>(solutions.size()), static_cast<double>(problems.size())});
    }
  }
  return solutions;
}

}  // namespace qklab::theory
