#pragma once

#include <optional>

#include "qklab/experiment/description/plan.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::experiment {

/// Solves the theory of a plan's points, each at its best weight decay where the plan asks for that.
class PointSolver {
 public:
  /// Throws InvalidParameter when an option is out of range.
  PointSolver(const Plan& plan, const theory::SolveOptions& options);

  /// `neighbour` is a solution nearby, from which the search starts where it converged. The solution's
  /// problem holds the weight decay that was used. Throws like theory::StateEvolution::solve.
  theory::Solution solve(Problem problem, const std::optional<theory::Solution>& neighbour);

 private:
  theory::StateEvolution evolution_;
  bool at_best_lambda_;
};

}  // namespace qklab::experiment
