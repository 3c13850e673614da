#include "qklab/experiment/comparison/message_passing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "over_runs.hpp"
#include "qklab/experiment/comparison/point_solver.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::experiment {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Passes messages until the seeds are through; false when stopped before.
bool run_seeds(MessagePassing& point, const MessagePassingOptions& options,
               const std::function<void()>& run_is_complete);
theory::Solution as_solution(const theory::BayesSolution& bayes);
std::vector<ComparedIterate> iterates_of(const MessagePassing& point, const MessagePassingOptions& options);
std::vector<theory::Iterate> predicted_iterates(const Problem& problem, const ComparedIterate& start,
                                                int last, const MessagePassingOptions& options);
ComparedIterate mean_iterate(const std::vector<lab::AmpRun>& runs, std::size_t iteration);
/// How many iterates come before the first that a damped step made.
std::size_t undamped(const std::vector<ComparedIterate>& iterates);
Outcome outcome_of(const MessagePassing& point);

}  // namespace

bool pass_messages(const Plan& plan, const MessagePassingOptions& options,
                   const std::function<void(const MessagePassing&)>& report) {
  const double all = static_cast<double>(plan.points.size()) * options.seeds;
  double complete = 0;
  const auto show = [&] {
    if (options.progress) options.progress({"runs", complete, all});
  };
  PointSolver solver(plan, options.solve);
  theory::BayesSolver bayes_solver(options.solve);
  std::optional<theory::Solution> neighbour;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (options.solve.stop.requested()) return false;
    show();
    if (plan.starts_a_series(i)) neighbour.reset();
    MessagePassing point;
    point.fixed_point = options.amp.estimator == lab::AmpEstimator::bayes
                            ? as_solution(bayes_solver.solve(plan.points[i]))
                            : solver.solve(plan.points[i], neighbour);
    neighbour = point.fixed_point;
    const bool is_complete = point.fixed_point.outcome != Outcome::interrupted &&
                             run_seeds(point, options, [&] { ++complete, show(); });
    point.outcome = is_complete ? outcome_of(point) : Outcome::interrupted;
    point.iterates = iterates_of(point, options);
    report(point);
    if (!is_complete) return false;
  }
  return true;
}

std::vector<Deviation> deviations(const MessagePassing& point) {
  const theory::Solution& theory = point.fixed_point;
  const auto compared = [&](const char* quantity, const Estimate& predicted,
                            double (*measure)(const lab::AmpRun&)) {
    const Estimate measured = over_runs(point.runs, measure);
    return Deviation{quantity, predicted, measured, deviation_in_errors(measured, predicted)};
  };
  using Run = lab::AmpRun;
  return {
      compared("test_error", theory.test_error, [](const Run& run) { return run.test_error.value; }),
      compared("train_loss", theory.train_loss, [](const Run& run) { return run.train_loss; }),
      compared("overlap", theory.overlap, [](const Run& run) { return run.overlap; }),
      compared("self_overlap", theory.self_overlap,
               [](const Run& run) { return run.self_overlap.symmetric; }),
      compared("zero_fraction", theory.zero_fraction, [](const Run& run) { return run.zero_fraction; }),
  };
}

namespace {

bool run_seeds(MessagePassing& point, const MessagePassingOptions& options,
               const std::function<void()>& run_is_complete) {
  for (int k = 0; k < options.seeds; ++k) {
    lab::AmpRun run = lab::run_amp(point.fixed_point.problem, options.amp,
                                   options.first_seed + static_cast<std::uint64_t>(k));
    if (run.outcome == Outcome::interrupted) return false;
    point.runs.push_back(std::move(run));
    run_is_complete();
  }
  return true;
}

theory::Solution as_solution(const theory::BayesSolution& bayes) {
  theory::Solution solution;
  solution.problem = bayes.problem;
  solution.overlap = solution.self_overlap = {bayes.overlap, bayes.squared_error_se};
  solution.susceptibility = {bayes.squared_error, bayes.squared_error_se};
  solution.test_error = bayes.test_error;
  solution.train_loss = solution.zero_fraction = solution.stability = {unknown, unknown};
  solution.stable = true;
  solution.outcome = bayes.outcome;
  solution.iterations = bayes.iterations;
  solution.residual = bayes.residual;
  return solution;
}

std::vector<ComparedIterate> iterates_of(const MessagePassing& point, const MessagePassingOptions& options) {
  std::size_t longest = 0;
  for (const lab::AmpRun& run : point.runs) longest = std::max(longest, run.iterations.size());
  std::vector<ComparedIterate> iterates;
  for (std::size_t t = 0; t < longest; ++t) iterates.push_back(mean_iterate(point.runs, t));
  if (iterates.empty()) return iterates;
  const std::vector<theory::Iterate> predicted = predicted_iterates(
      point.fixed_point.problem, iterates.front(), static_cast<int>(undamped(iterates)) - 1, options);
  for (std::size_t t = 0; t < predicted.size(); ++t) iterates[t].predicted = predicted[t];
  return iterates;
}

std::vector<theory::Iterate> predicted_iterates(const Problem& problem, const ComparedIterate& start,
                                                int last, const MessagePassingOptions& options) {
  const double m = start.overlap.value;
  if (options.amp.estimator == lab::AmpEstimator::bayes) {
    return theory::bayes_iterates(problem, std::max(0.0, m), last, options.solve);
  }
  if (theory::is_sampled(problem)) return {};
  const double orthogonal = start.self_overlap.value - m * m / teacher_self_overlap(problem);
  return theory::iterates(problem, {m, std::max(0.0, orthogonal), start.susceptibility.value}, last,
                          options.solve);
}

ComparedIterate mean_iterate(const std::vector<lab::AmpRun>& runs, std::size_t iteration) {
  const auto at = [iteration](const lab::AmpRun& run) -> const lab::AmpIteration& {
    return run.iterations[std::min(iteration, run.iterations.size() - 1)];
  };
  using Iteration = lab::AmpIteration;
  const auto mean = [&](double (*measure)(const Iteration&)) {
    return over_runs(runs, [&](const lab::AmpRun& run) { return measure(at(run)); });
  };
  ComparedIterate compared;
  compared.iteration = static_cast<int>(iteration);
  compared.overlap = mean([](const Iteration& it) { return it.overlap; });
  compared.self_overlap = mean([](const Iteration& it) { return it.self_overlap.symmetric; });
  compared.susceptibility = mean([](const Iteration& it) { return it.susceptibility.symmetric; });
  compared.test_error = mean([](const Iteration& it) { return it.test_error.value; });
  if (runs.size() == 1) compared.test_error.se = at(runs.front()).test_error.se;
  compared.train_loss = mean([](const Iteration& it) { return it.train_loss; });
  for (const lab::AmpRun& run : runs) {
    if (iteration >= run.iterations.size()) continue;
    compared.residual = std::max(compared.residual, at(run).residual);
    compared.damping = std::max(compared.damping, at(run).damping);
  }
  return compared;
}

std::size_t undamped(const std::vector<ComparedIterate>& iterates) {
  std::size_t count = 0;
  while (count < iterates.size() && iterates[count].damping == 0) ++count;
  return std::min(count + 1, iterates.size());
}

Outcome outcome_of(const MessagePassing& point) {
  if (!is_answer(point.fixed_point.outcome)) return point.fixed_point.outcome;
  for (const lab::AmpRun& run : point.runs) {
    if (!is_answer(run.outcome)) return run.outcome;
  }
  return point.fixed_point.outcome;
}

}  // namespace
}  // namespace qklab::experiment
