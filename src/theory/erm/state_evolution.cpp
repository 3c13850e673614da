#include "qklab/theory/erm/state_evolution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "error_propagation.hpp"
#include "nested_brackets.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/fixed_point/fixed_point.hpp"
#include "qklab/theory/untied/untied.hpp"
#include "state_evolution_map.hpp"

namespace qklab::theory {
namespace {

/// Solves one problem after another, keeping the sampling points as long as they serve.
class Solver {
 public:
  explicit Solver(const SolveOptions& options) : options_(options) {}

  Solution solve(const Problem& problem, const std::optional<Solution>& warm_start) {
    if (is_sampled(problem)) return as_solution(solve_untied(problem, {.solve = options_}));
    prepare(problem);
    const std::optional<std::vector<Observation>> zero = fine_->observe_zero();
    if (zero && is_convex()) return report_zero(*zero);
    FixedPoint point = find(warm_start ? start_from(*warm_start) : default_start());
    if (!is_answer(point.outcome) && !options_.stop.requested()) point = find(start_near_zero());
    if (!is_answer(point.outcome) && !options_.stop.requested()) point = find_by_brackets(point);
    if (!is_answer(point.outcome) && !options_.stop.requested()) point = find_by_continuation(point);
    Solution solution = report(point);
    if (zero && zero_wins(*zero, solution)) return report_zero(*zero);
    return solution;
  }

 private:
  void prepare(const Problem& problem);
  Eigen::VectorXd default_start() const;
  /// Where the map is defined for any weight decay below the one that gives S = 0, and from where it leads
  /// away.
  static Eigen::VectorXd start_near_zero() { return Eigen::Vector3d(1e-3, std::log(1e-5), std::log(1e-3)); }
  Eigen::VectorXd start_from(const Solution& neighbour) const;
  /// Draws the sampling points, a function of the seed and the number of the redraw.
  void draw_sample(int redraw);
  FixedPoint find(const Eigen::VectorXd& start);
  FixedPoint find_on_sample(const Eigen::VectorXd& start);
  bool straddles_a_jump(const FixedPoint& point);
  FixedPoint find_in_closed_form(const Eigen::VectorXd& start);
  FixedPoint find_by_brackets(const FixedPoint& failed);
  FixedPoint find_by_continuation(const FixedPoint& failed);
  Solution report(const FixedPoint& point);
  Solution report_zero(const std::vector<Observation>& zero) const;
  void fill_observables(const Eigen::VectorXd& x, Solution& solution);
  void fill_diagnostics(const Eigen::VectorXd& x, Solution& solution);

  bool is_convex() const { return problem_.activation == Activation::identity; }
  static bool zero_wins(const std::vector<Observation>& zero, const Solution& solution) {
    if (!is_answer(solution.outcome)) return true;
    return zero.front().values[train_loss] <= solution.train_loss.value + solution.regularization.value;
  }

  SolveOptions options_;
  Problem problem_;
  std::optional<StateEvolutionMap> fine_;
  std::optional<StateEvolutionMap> coarse_;  ///< a smaller sample: cheap first iterations and slopes
  int evaluations_ = 0;
  int redraws_ = 0;
};

/// Where proximal problems have competing minima the sampled map jumps by a sample's share, and may jump over
/// its fixed point; another sample has its jumps elsewhere.
FixedPoint Solver::find(const Eigen::VectorXd& start) {
  constexpr int most_redraws = 8;
  if (is_convex()) return find_in_closed_form(start);
  FixedPoint point = find_on_sample(start);
  while (redraws_ < most_redraws && straddles_a_jump(point)) {
    draw_sample(redraws_ + 1);
    point = find_on_sample(point.x);
  }
  return point;
}

bool Solver::straddles_a_jump(const FixedPoint& point) {
  constexpr double sample_share = 1e-2;
  if (point.outcome != Outcome::stagnated || point.residual > sample_share || options_.stop.requested()) {
    return false;
  }
  return mean_over_scramblings(fine_->output_side(point.x)).competing > 0;
}

/// First on the small sample, whose fixed point and Jacobian make the large one a matter of a few steps.
FixedPoint Solver::find_on_sample(const Eigen::VectorXd& start) {
  const auto on_coarse = [this](const Eigen::VectorXd& x) { return (*coarse_)(x); };
  const auto on_fine = [this](const Eigen::VectorXd& x) { return (*fine_)(x); };
  FixedPointOptions rough{
      .tolerance = 1e-2, .max_evaluations = options_.max_iterations, .stop = options_.stop};

  coarse_->use(DivergenceEstimator::stein);
  FixedPoint coarse = solve_fixed_point(on_coarse, start, rough);
  evaluations_ += coarse.evaluations;
  if (!is_answer(coarse.outcome)) return coarse;
  fine_->choose_estimator(coarse.x);
  coarse_->use(fine_->estimator());
  rough.tolerance = 1e-5;
  coarse = solve_fixed_point(on_coarse, coarse.x, rough);
  evaluations_ += coarse.evaluations;

  FixedPointOptions exact{
      .tolerance = options_.tolerance, .max_evaluations = options_.max_iterations, .stop = options_.stop};
  FixedPoint fine{coarse.x, coarse.residual, 0, Outcome::stagnated};
  if (const auto value = on_coarse(coarse.x)) {
    if (const auto slope = jacobian(on_coarse, coarse.x, *value, 1e-4)) {
      fine = refine_fixed_point(on_fine, coarse.x, *slope, exact);
    }
  }
  evaluations_ += fine.evaluations;
  if (fine.outcome == Outcome::stagnated) {
    fine = solve_fixed_point(on_fine, fine.x, exact);
    evaluations_ += fine.evaluations;
  }
  return fine;
}

/// Iterates down to rounding, which near recovery lies above any fixed goal, and is judged by the tolerance
/// asked for.
FixedPoint Solver::find_in_closed_form(const Eigen::VectorXd& start) {
  const auto map = [this](const Eigen::VectorXd& x) { return (*fine_)(x); };
  FixedPoint point = solve_fixed_point(map, start,
                                       {.tolerance = std::min(options_.tolerance, 1e-12),
                                        .max_evaluations = options_.max_iterations,
                                        .stop = options_.stop});
  if (point.residual <= options_.tolerance) point.outcome = Outcome::converged;
  evaluations_ += point.evaluations;
  return point;
}

FixedPoint Solver::find_by_brackets(const FixedPoint& failed) {
  const std::optional<OrderParameters> order = solve_by_brackets(problem_);
  if (!order) return failed;
  const FixedPoint point = find_in_closed_form(fine_->coordinates(*order));
  return point.residual < failed.residual ? point : failed;
}

/// Weight decay strong enough for an easy problem, then down to the wanted one, each start from the last
/// solution.
FixedPoint Solver::find_by_continuation(const FixedPoint& failed) {
  constexpr int tries = 5;
  const Problem target = problem_;
  FixedPoint best = failed;
  double lambda = std::max(target.lambda, 1e-4);
  FixedPoint point;
  for (int k = 0; k < tries && !is_answer(point.outcome); ++k) {
    lambda *= 4;
    problem_.lambda = lambda;
    fine_->retarget(problem_);
    coarse_->retarget(problem_);
    point = find(default_start());
  }
  while (is_answer(point.outcome) && lambda > target.lambda && !options_.stop.requested()) {
    const double next = lambda / 2 > std::max(target.lambda, 1e-12) ? lambda / 2 : target.lambda;
    problem_.lambda = lambda = next;
    fine_->retarget(problem_);
    coarse_->retarget(problem_);
    point = find(point.x);
  }
  const bool reached = problem_.lambda == target.lambda;
  problem_ = target;
  fine_->retarget(target);
  coarse_->retarget(target);
  return reached && point.residual < best.residual ? point : best;
}

void Solver::prepare(const Problem& problem) {
  problem_ = problem;
  evaluations_ = 0;
  if (fine_ && redraws_ == 0 && fine_->serves(problem)) {
    fine_->retarget(problem);
    coarse_->retarget(problem);
    return;
  }
  draw_sample(0);
}

void Solver::draw_sample(int redraw) {
  redraws_ = redraw;
  QmcOptions large = options_.qmc;
  large.seed += static_cast<std::uint64_t>(redraw) << 32;
  QmcOptions small = large;
  small.log2_points = std::max(8, large.log2_points - 3);
  small.scramblings = 2;
  fine_.emplace(problem_, large);
  coarse_.emplace(problem_, small);
}

Eigen::VectorXd Solver::default_start() const {
  return Eigen::Vector3d(0.6, std::log(0.2), std::log(0.5 / std::max(problem_.alpha, 0.1)));
}

Eigen::VectorXd Solver::start_from(const Solution& neighbour) const {
  const double m = neighbour.overlap.value;
  const double orthogonal = neighbour.self_overlap.value - m * m / teacher_self_overlap(neighbour.problem);
  const Eigen::VectorXd x = fine_->coordinates({m, orthogonal, neighbour.susceptibility.value});
  return x.allFinite() ? x : default_start();
}

Solution Solver::report(const FixedPoint& point) {
  Solution solution;
  solution.problem = problem_;
  solution.outcome = point.outcome;
  solution.residual = point.residual;
  solution.iterations = evaluations_;
  solution.redraws = redraws_;
  if (point.x.allFinite()) fill_observables(point.x, solution);
  return solution;
}

void Solver::fill_observables(const Eigen::VectorXd& x, Solution& solution) {
  const auto observations = fine_->observe(x);
  if (!observations) {
    solution.outcome = Outcome::diverged;
    return;
  }
  const Observation& mean = observations->front();
  const OrderParameters order = fine_->order_parameters(x);
  const bool sampled = !is_convex() && is_answer(solution.outcome);
  const std::optional<PropagatedErrors> errors =
      sampled ? std::optional(propagate_errors(x, *observations, *fine_, *coarse_)) : std::nullopt;
  const auto with_error = [&](double value, Observable which) {
    return Estimate{value, errors ? standard_error(errors->observables.row(which)) : 0};
  };
  solution.overlap = {order.overlap, errors ? standard_error(errors->overlap) : 0};
  solution.self_overlap = {fine_->self_overlap(order), errors ? standard_error(errors->self_overlap) : 0};
  solution.susceptibility = {order.susceptibility, errors ? standard_error(errors->susceptibility) : 0};
  solution.overlap_hat = with_error(mean.values[overlap_hat], overlap_hat);
  solution.self_overlap_hat = with_error(mean.values[self_overlap_hat], self_overlap_hat);
  solution.susceptibility_hat = with_error(mean.values[susceptibility_hat], susceptibility_hat);
  solution.test_error = with_error(mean.values[test_error], test_error);
  solution.train_loss = with_error(mean.values[train_loss], train_loss);
  solution.train_error = {solution.train_loss.value / problem_.alpha,
                          solution.train_loss.se / problem_.alpha};
  solution.regularization = with_error(mean.values[regularization], regularization);
  solution.zero_fraction = with_error(mean.values[zero_fraction_of_student], zero_fraction_of_student);
  solution.stability = with_error(mean.values[stability], stability);
  solution.stable = solution.stability.value < 1;
  solution.spectrum = mean.student.spectrum;
  solution.edges = student_edges(solution.spectrum);
  fill_diagnostics(x, solution);
}

void Solver::fill_diagnostics(const Eigen::VectorXd& x, Solution& solution) {
  const OutputExpectations output = mean_over_scramblings(fine_->output_side(x));
  solution.estimator_gap = std::abs(output.student_divergence_implicit / output.student_divergence_stein - 1);
  solution.competing_minima = output.competing;
  solution.unconverged_proximals = output.unconverged;
}

Solution Solver::report_zero(const std::vector<Observation>& zero) const {
  Solution solution;
  solution.problem = problem_;
  solution.outcome = Outcome::zero_solution;
  solution.iterations = evaluations_;
  const auto with_error = [&](Observable which) {
    Eigen::VectorXd values(static_cast<Eigen::Index>(zero.size()) - 1);
    for (Eigen::Index s = 0; s < values.size(); ++s) values[s] = zero[s + 1].values[which];
    return Estimate{zero.front().values[which], standard_error(values)};
  };
  solution.overlap_hat = with_error(overlap_hat);
  solution.self_overlap_hat = with_error(self_overlap_hat);
  solution.susceptibility_hat = with_error(susceptibility_hat);
  solution.test_error = with_error(test_error);
  solution.train_loss = with_error(train_loss);
  solution.train_error = {solution.train_loss.value / problem_.alpha,
                          solution.train_loss.se / problem_.alpha};
  solution.zero_fraction = {1, 0};
  solution.stable = true;
  solution.spectrum = zero.front().student.spectrum;
  return solution;
}

SolveOptions checked(SolveOptions options) {
  options.qmc = qklab::checked(options.qmc);
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance)) {
    throw InvalidParameter("tolerance", options.tolerance, "must be > 0 and finite");
  }
  if (options.max_iterations < 1)
    throw InvalidParameter("max_iterations", options.max_iterations, "must be >= 1");
  return options;
}

}  // namespace

struct StateEvolution::State {
  Solver solver;
  SolveOptions options;
};

StateEvolution::StateEvolution(const SolveOptions& options)
    : state_(std::make_unique<State>(State{Solver(checked(options)), options})) {}

StateEvolution::~StateEvolution() = default;
StateEvolution::StateEvolution(StateEvolution&&) noexcept = default;
StateEvolution& StateEvolution::operator=(StateEvolution&&) noexcept = default;

Solution StateEvolution::solve(const Problem& problem, const std::optional<Solution>& neighbour) {
  const bool is_start = neighbour && neighbour->outcome == Outcome::converged;
  return state_->solver.solve(qklab::checked(problem), is_start ? neighbour : std::nullopt);
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
