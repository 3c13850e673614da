#include "qklab/experiment/comparison/point_solver.hpp"

#include "qklab/theory/generalization/weight_decay.hpp"

namespace qklab::experiment {

PointSolver::PointSolver(const Plan& plan, const theory::SolveOptions& options)
    : evolution_(options), at_best_lambda_(plan.at_best_lambda) {}

theory::Solution PointSolver::solve(Problem problem, const std::optional<theory::Solution>& neighbour) {
  if (!at_best_lambda_) return evolution_.solve(problem, neighbour);
  if (neighbour && neighbour->outcome == Outcome::converged) problem.lambda = neighbour->problem.lambda;
  return theory::best_weight_decay(problem, evolution_, {.flatness = false, .replicas = 0}).best;
}

}  // namespace qklab::experiment
