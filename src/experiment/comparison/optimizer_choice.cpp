#include "qklab/experiment/comparison/optimizer_choice.hpp"

#include "qklab/core/error.hpp"
#include "qklab/lab/message_passing/amp.hpp"

namespace qklab::experiment {
namespace {

bool takes_messages(const Problem& problem);
bool is_stable(const Problem& problem, const StopToken& stop);

}  // namespace

lab::TrainOptions with_optimizer(lab::TrainOptions options, const theory::Solution& solution) {
  if (options.optimizer != lab::Optimizer::automatic) return options;
  const bool settles = options.ranks.size == 1 && is_answer(solution.outcome) && solution.stable &&
                       takes_messages(solution.problem);
  options.optimizer = settles ? lab::Optimizer::amp : lab::Optimizer::lbfgs;
  return options;
}

lab::TrainOptions with_optimizer(lab::TrainOptions options, const Problem& problem) {
  if (options.optimizer != lab::Optimizer::automatic) return options;
  const bool settles = options.ranks.size == 1 && takes_messages(problem) && is_stable(problem, options.stop);
  options.optimizer = settles ? lab::Optimizer::amp : lab::Optimizer::lbfgs;
  return options;
}

namespace {

bool takes_messages(const Problem& problem) {
  try {
    lab::require_message_passing(problem);
    return true;
  } catch (const InvalidParameter&) {
    return false;
  }
}

/// A hundredth of an error in the stability decides nothing.
bool is_stable(const Problem& problem, const StopToken& stop) {
  theory::SolveOptions rough;
  rough.qmc.log2_points = 12;
  rough.tolerance = 1e-4;
  rough.stop = stop;
  try {
    const theory::Solution solution = theory::StateEvolution(rough).solve(problem);
    return is_answer(solution.outcome) && solution.stable;
  } catch (const InvalidParameter&) {
    return false;  // outside the domain of the theory
  }
}

}  // namespace
}  // namespace qklab::experiment
