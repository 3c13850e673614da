#include "qklab/experiment/comparison/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "over_runs.hpp"
#include "qklab/experiment/comparison/optimizer_choice.hpp"
#include "qklab/experiment/comparison/point_solver.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::experiment {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Counts what is complete: trained runs, or points where nothing is trained.
class Units {
 public:
  Units(const Plan& plan, const CompareOptions& options)
      : progress_(options.progress),
        stage_(options.seeds > 0 ? "runs" : "points"),
        all_(static_cast<double>(plan.points.size()) * std::max(1, options.seeds)) {}

  void show() const {
    if (progress_) progress_({stage_, complete_, all_});
  }
  void count() {
    ++complete_;
    show();
  }

 private:
  ProgressCallback progress_;
  const char* stage_;
  double all_;
  double complete_ = 0;
};

Outcome outcome_of(const Comparison& comparison) {
  if (!is_answer(comparison.theory.outcome)) return comparison.theory.outcome;
  for (const lab::TrainedRun& run : comparison.runs) {
    if (!is_answer(run.outcome)) return run.outcome;
  }
  return comparison.theory.outcome;
}

}  // namespace

bool compare(const Plan& plan, const CompareOptions& options,
             const std::function<void(const Comparison&)>& report) {
  Units units(plan, options);
  PointSolver solver(plan, options.solve);
  std::optional<theory::Solution> neighbour;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (options.solve.stop.requested()) return false;
    units.show();
    if (plan.starts_a_series(i)) neighbour.reset();
    Comparison comparison{solver.solve(plan.points[i], neighbour), {}};
    const bool complete = comparison.theory.outcome != Outcome::interrupted &&
                          train_runs(comparison, options, [&] { units.count(); });
    report(comparison);
    if (!complete) return false;
    if (options.seeds == 0) units.count();
    neighbour = std::move(comparison.theory);
  }
  return true;
}

bool train_runs(Comparison& comparison, const CompareOptions& options,
                const std::function<void()>& run_is_complete) {
  comparison.outcome = Outcome::interrupted;
  const lab::TrainOptions train = with_optimizer(options.train, comparison.theory);
  for (int k = 0; k < options.seeds; ++k) {
    lab::TrainedRun run =
        lab::run(comparison.theory.problem, train, options.first_seed + static_cast<std::uint64_t>(k));
    if (run.outcome == Outcome::interrupted) return false;
    comparison.runs.push_back(std::move(run));
    if (run_is_complete) run_is_complete();
  }
  comparison.outcome = outcome_of(comparison);
  return true;
}

std::vector<Deviation> deviations(const Comparison& comparison) {
  const auto compared = [&](const char* quantity, const Estimate& theory,
                            double (*measure)(const lab::TrainedRun&)) {
    const Estimate trained = over_runs(comparison.runs, measure);
    return Deviation{quantity, theory, trained, deviation_in_errors(trained, theory)};
  };
  using Run = lab::TrainedRun;
  const theory::Solution& theory = comparison.theory;
  std::vector<Deviation> all = {
      compared("test_error", theory.test_error, [](const Run& run) { return run.test_error.value; }),
      compared("train_loss", theory.train_loss, [](const Run& run) { return run.train_loss; }),
      compared("regularization", theory.regularization, [](const Run& run) { return run.regularization; }),
      compared("overlap", theory.overlap, [](const Run& run) { return run.overlap; }),
      compared("self_overlap", theory.self_overlap, [](const Run& run) { return run.self_overlap; }),
      compared("zero_fraction", theory.zero_fraction, [](const Run& run) { return run.zero_fraction; }),
  };
  // A direct student has no eigenvalue at zero; the trained count is that of a density near zero.
  if (theory.problem.parametrization == Parametrization::direct) all.back().in_errors = unknown;
  if (theory::is_sampled(theory.problem)) {
    all.push_back(compared("antisymmetric_self_overlap", theory.antisymmetric_self_overlap,
                           [](const Run& run) { return run.antisymmetric_self_overlap; }));
  }
  return all;
}

std::vector<Deviation> deviations(const Comparison& comparison, const theory::BayesSolution& reference) {
  std::vector<Deviation> against_reference;
  for (Deviation quantity : deviations(comparison)) {
    if (quantity.quantity == "test_error") {
      quantity.theory = reference.test_error;
    } else if (quantity.quantity == "overlap" || quantity.quantity == "self_overlap") {
      quantity.theory = {reference.overlap, reference.squared_error_se};
    } else {
      continue;
    }
    quantity.in_errors = deviation_in_errors(quantity.trained, quantity.theory);
    against_reference.push_back(std::move(quantity));
  }
  return against_reference;
}

double deviation_in_errors(const Estimate& measured, const Estimate& predicted) {
  // Runs that agree but for rounding know no error either.
  constexpr double rounding = 1e-12;
  if (!(measured.se > rounding * std::abs(measured.value))) return unknown;
  return (measured.value - predicted.value) / std::hypot(measured.se, predicted.se);
}

}  // namespace qklab::experiment
