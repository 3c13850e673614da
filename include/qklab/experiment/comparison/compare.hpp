#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/lab/training/train.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::experiment {

struct CompareOptions {
  theory::SolveOptions solve{};
  lab::TrainOptions train{};
  int seeds = 4;                 ///< trained runs of each point; 0: theory alone
  std::uint64_t first_seed = 1;  ///< run k has the seed first_seed + k
  ProgressCallback progress{};   ///< stage "runs", or "points" where nothing is trained
};

/// Theory and trained runs of one point.
struct Comparison {
  theory::Solution theory;
  std::vector<lab::TrainedRun> runs;
  /// That of the theory when it and every run are answers; else the first outcome that is none.
  Outcome outcome = Outcome::stagnated;
};

/// One quantity as predicted and as measured.
struct Deviation {
  std::string quantity;  ///< "test_error"
  Estimate theory;
  Estimate trained;  ///< mean over runs; NaN without runs, its error NaN for a single run
  /// (trained - theory)/sqrt(se_trained^2 + se_theory^2); NaN when se_trained is 0 or unknown, and for the
  /// zero_fraction of direct students, whose small eigenvalues are none.
  double in_errors = 0;
};

/// Solves the theory and trains `seeds` runs at each point of the plan, in order, and hands over each point
/// when it is complete. Each solution starts from the one before where that is a neighbour.
///
/// When a stop is requested, the point then at work is handed over with the runs that were complete and the
/// outcome `interrupted`, and the comparison ends; returns false then.
bool compare(const Plan& plan, const CompareOptions& options,
             const std::function<void(const Comparison&)>& report);

/// Trains the runs of a solved point and sets its outcome; false when stopped before the last was complete.
bool train_runs(Comparison& comparison, const CompareOptions& options,
                const std::function<void()>& run_is_complete = {});

/// test_error, train_loss, regularization, overlap, self_overlap, zero_fraction, and for untied students of
/// several tokens antisymmetric_self_overlap.
std::vector<Deviation> deviations(const Comparison& comparison);

/// test_error, overlap, self_overlap of the trained runs beside the Bayes-optimal reference.
std::vector<Deviation> deviations(const Comparison& comparison, const theory::BayesSolution& reference);

/// Difference of two independent estimates in units of its standard error; NaN when the error of the measured
/// one is not known: a single run, or runs that agree exactly (zero_fraction moves in steps of 1/d).
double deviation_in_errors(const Estimate& measured, const Estimate& predicted);

}  // namespace qklab::experiment
