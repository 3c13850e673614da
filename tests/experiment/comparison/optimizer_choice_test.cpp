#include "qklab/experiment/comparison/optimizer_choice.hpp"

#include <gtest/gtest.h>

namespace qklab::experiment {
namespace {

using lab::Optimizer;

Optimizer chosen(const Problem& problem, Optimizer wanted = Optimizer::automatic) {
  lab::TrainOptions options;
  options.optimizer = wanted;
  return with_optimizer(options, problem).optimizer;
}

Problem stable_problem() {
  Problem problem;
  problem.lambda = 0.1;
  problem.noise_in = 0.2;
  return problem;
}

TEST(OptimizerChoice, PassesMessagesWhereTheTheoryIsStable) {
  EXPECT_EQ(chosen(stable_problem()), Optimizer::amp);
  Problem narrow = stable_problem();
  narrow.kappa = 0.2;  // cuts inside the bulk: formally unstable
  EXPECT_EQ(chosen(narrow), Optimizer::lbfgs);
}

TEST(OptimizerChoice, DescendsWhereMessagesCannotBePassed) {
  Problem problem = stable_problem();
  problem.parametrization = Parametrization::untied;
  problem.kappa = 0.5;
  EXPECT_EQ(chosen(problem), Optimizer::lbfgs);
}

TEST(OptimizerChoice, ReadsTheSolutionAtHand) {
  theory::Solution solution;
  solution.problem = stable_problem();
  solution.outcome = Outcome::converged;
  solution.stable = true;
  lab::TrainOptions options;
  options.optimizer = Optimizer::automatic;
  EXPECT_EQ(with_optimizer(options, solution).optimizer, Optimizer::amp);
  solution.stable = false;
  EXPECT_EQ(with_optimizer(options, solution).optimizer, Optimizer::lbfgs);
  solution.stable = true;
  solution.outcome = Outcome::stagnated;
  EXPECT_EQ(with_optimizer(options, solution).optimizer, Optimizer::lbfgs);
}

TEST(OptimizerChoice, LeavesADecisionAlone) {
  for (Optimizer optimizer : {Optimizer::adam, Optimizer::lbfgs, Optimizer::amp}) {
    EXPECT_EQ(chosen(stable_problem(), optimizer), optimizer);
  }
}

}  // namespace
}  // namespace qklab::experiment
