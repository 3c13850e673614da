#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/theory/erm/iterates.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::experiment {

struct MessagePassingOptions {
  theory::SolveOptions solve{};
  lab::AmpOptions amp{};
  int seeds = 1;                 ///< runs of each point
  std::uint64_t first_seed = 1;  ///< run k has the seed first_seed + k
  ProgressCallback progress{};   ///< stage "runs"
};

/// One iterate, the mean over runs, and what the state evolution says of it. Errors over runs are NaN for a
/// single one. A run that has ended stays where it ended.
struct ComparedIterate {
  int iteration = 0;
  Estimate overlap;
  Estimate self_overlap;  ///< of the symmetric part
  Estimate susceptibility;
  Estimate test_error;
  Estimate train_loss;
  double residual = 0;  ///< the largest over runs
  double damping = 0;   ///< the largest over runs
  /// Nothing once a run was damped, which the state evolution does not follow, and for students that it has
  /// no iterates for (untied, several tokens).
  std::optional<theory::Iterate> predicted;
};

/// Message passing on finite instances of one problem, with its state evolution beside it.
struct MessagePassing {
  std::vector<lab::AmpRun> runs;
  std::vector<ComparedIterate> iterates;
  /// For the posterior mean what the Bayes-optimal solution says in its terms: V = Q0 - q, no training loss,
  /// always stable.
  theory::Solution fixed_point;
  /// That of the theory when it and every run are answers; else the first outcome that is none.
  Outcome outcome = Outcome::stagnated;
};

/// Passes messages on `seeds` instances of each point of the plan, in order, and hands over each point when
/// it is complete. Points at their best weight decay are solved for it first.
///
/// When a stop is requested the point then at work is handed over with the runs that were complete and the
/// outcome `interrupted`; returns false then. Throws like lab::run_amp.
bool pass_messages(const Plan& plan, const MessagePassingOptions& options,
                   const std::function<void(const MessagePassing&)>& report);

/// test_error, train_loss, overlap, self_overlap, zero_fraction of the last iterates beside the fixed point.
std::vector<Deviation> deviations(const MessagePassing& point);

}  // namespace qklab::experiment
