#include "qklab/theory/generalization/weight_decay.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

Problem quadratic_network(double alpha, double noise) {
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.alpha = alpha;
  problem.noise_out = noise;
  return problem;
}

TEST(BestWeightDecay, IsAMinimumOfTheTestError) {
  const Problem problem = quadratic_network(0.5, 0.3);
  StateEvolution evolution;
  const BestWeightDecay best = best_weight_decay(problem, evolution);
  ASSERT_EQ(best.outcome, Outcome::converged);
  EXPECT_FALSE(best.vanishes);
  EXPECT_EQ(best.lambda.se, 0);
  EXPECT_EQ(best.best.problem.lambda, best.lambda.value);
  for (double factor : {0.5, 0.9, 1.1, 2.0}) {
    Problem other = problem;
    other.lambda = best.lambda.value * factor;
    EXPECT_GT(solve(other).test_error.value, best.best.test_error.value);
  }
}

// The direct student's optimum in closed form: its test error is that of a linear shrinkage, and the best
// ridge is Bayes' for the prior variance Q0 and the effective noise, 4 lambda/Vhat = (qhat/mhat^2)/Q0.
TEST(BestWeightDecay, OfTheDirectStudentIsTheBayesianRidge) {
  Problem problem = quadratic_network(0.7, 0.5);
  problem.parametrization = Parametrization::direct;
  StateEvolution evolution;
  const BestWeightDecay best = best_weight_decay(problem, evolution, {.precision = 1e-5});
  const Solution& at = best.best;
  const double noise = at.self_overlap_hat.value / std::pow(at.overlap_hat.value, 2);
  EXPECT_NEAR(4 * best.lambda.value / at.susceptibility_hat.value, noise / 1.5, 1e-3);
}

TEST(BestWeightDecay, DoesNotDependOnTheStart) {
  Problem problem = quadratic_network(0.5, 0.3);
  StateEvolution evolution;
  const double expected = best_weight_decay(problem, evolution).lambda.value;
  for (double start : {1e-7, 1e-3, 1.0, 1e3}) {
    problem.lambda = start;
    EXPECT_NEAR(best_weight_decay(problem, evolution).lambda.value / expected, 1, 0.01);
  }
}

TEST(BestWeightDecay, FlatRangeIsWhereTheErrorRisesByOnePercent) {
  Problem problem = quadratic_network(0.5, 0.3);
  StateEvolution evolution;
  const BestWeightDecay best = best_weight_decay(problem, evolution);
  EXPECT_LT(best.flat_low, best.lambda.value);
  EXPECT_GT(best.flat_high, best.lambda.value);
  for (double edge : {best.flat_low, best.flat_high}) {
    problem.lambda = edge;
    EXPECT_NEAR(solve(problem).test_error.value / best.best.test_error.value, 1.01, 5e-4);
  }
}

TEST(BestWeightDecay, VanishesWithoutNoiseAboveRecovery) {
  StateEvolution evolution;
  const BestWeightDecay best = best_weight_decay(quadratic_network(0.6, 0), evolution);
  EXPECT_TRUE(best.vanishes);
  EXPECT_TRUE(std::isnan(best.flat_low));
}

TEST(BestWeightDecay, OfTheSoftmaxCarriesAnErrorThatCoversOtherSeeds) {
  Problem problem;
  problem.noise_out = 0.1;
  const QmcOptions qmc{.log2_points = 12, .scramblings = 8, .seed = 1};
  StateEvolution evolution({.qmc = qmc});
  const BestWeightDecay best = best_weight_decay(problem, evolution);
  QmcOptions other_qmc = qmc;
  other_qmc.seed = 77;
  StateEvolution other({.qmc = other_qmc});
  const BestWeightDecay again = best_weight_decay(problem, other, {.flatness = false, .replicas = 0});
  EXPECT_GT(best.lambda.se, 0);
  EXPECT_LT(best.lambda.se, 0.1 * best.lambda.value);
  EXPECT_NEAR(best.lambda.value, again.lambda.value,
              5 * best.lambda.se * std::sqrt(2) + 3e-3 * best.lambda.value);
}

TEST(BestWeightDecay, RefusesOptionsOutOfRange) {
  StateEvolution evolution;
  EXPECT_THROW(best_weight_decay(Problem{}, evolution, {.precision = 0}), InvalidParameter);
  EXPECT_THROW(best_weight_decay(Problem{}, evolution, {.flat_rise = -1}), InvalidParameter);
  EXPECT_THROW(best_weight_decay(Problem{}, evolution, {.replicas = -1}), InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
