#include "qklab/theory/generalization/decomposition.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

Problem power_law(double gamma, double alpha) {
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.teacher = PowerLawTeacher{gamma, 0};
  problem.dimension = 600;
  problem.noise_out = 0.5;
  problem.alpha = alpha;
  problem.lambda = 2.5 * std::sqrt(alpha);
  return problem;
}

void expect_exact_sum(const Solution& solution, const Decomposition& split) {
  const double c = split.scale.value;
  const double Q0 = teacher_self_overlap(solution.problem);
  const double distance = solution.self_overlap.value - 2 * c * solution.overlap.value + c * c * Q0;
  EXPECT_NEAR(split.parts.sum(), distance, 1e-10);
  EXPECT_NEAR(split.saturation_error.value + split.gradient_self_overlap.value * split.parts.sum() +
                  split.mismatch.value + split.remainder.value,
              solution.test_error.value, 1e-10);
}

// The identity's test error is linear in (m, q): nothing remains.
TEST(Decomposition, OfTheIdentityIsExact) {
  for (double gamma : {0.75, 1.0, 1.5}) {
    const Solution solution = solve(power_law(gamma, 0.3));
    const Decomposition split = decompose(solution);
    expect_exact_sum(solution, split);
    EXPECT_NEAR(split.remainder.value, 0, 1e-10);
    EXPECT_EQ(split.mismatch.value, 0);
    EXPECT_GT(split.parts.overfitting, 0);
    EXPECT_GT(split.parts.underfitting, 0);
    EXPECT_GT(split.parts.approximation, 0);
    EXPECT_LT(split.parts.cross, 0);
  }
}

// docs/theory 7.3: the share of the cross term at alpha = 1, d = 600, best weight decay.
TEST(Decomposition, CrossTermGrowsAsThePowerLawGetsSlower) {
  double previous = 0;
  for (double gamma : {1.5, 1.0, 0.75}) {
    const Decomposition split = decompose(solve(power_law(gamma, 1)));
    const double share = split.parts.cross / split.parts.sum();
    EXPECT_LT(share, previous);
    previous = share;
  }
  EXPECT_LT(previous, -0.3);
}

TEST(Decomposition, OfOneSolutionAfterAnotherIsThatOfEach) {
  const QmcOptions qmc{.log2_points = 10};
  Problem softmax;
  softmax.noise_in = 0.3;
  Problem noisier = softmax;
  noisier.noise_in = 0.6;
  Problem longer = softmax;
  longer.alpha = 2;
  Problem other_teacher = softmax;
  other_teacher.teacher = WishartTeacher{0.2};
  Decomposer decomposer(qmc);
  for (const Problem& problem : {softmax, longer, noisier, other_teacher, power_law(1.0, 1.0), softmax}) {
    const Solution solution = solve(problem, {.qmc = qmc});
    const Decomposition one = decomposer(solution);
    const Decomposition alone = decompose(solution, qmc);
    EXPECT_EQ(one.scale.value, alone.scale.value);
    EXPECT_EQ(one.saturation_error.value, alone.saturation_error.value);
    EXPECT_EQ(one.saturation_error.se, alone.saturation_error.se);
    EXPECT_EQ(one.gradient_self_overlap.value, alone.gradient_self_overlap.value);
    EXPECT_EQ(one.parts.sum(), alone.parts.sum());
    EXPECT_EQ(one.remainder.value, alone.remainder.value);
  }
}

TEST(Decomposition, NoModeIsRecoveredFromLittleData) {
  Problem problem = power_law(1.0, 1e-4);
  problem.noise_out = 5;
  const Decomposition split = decompose(solve(problem));
  EXPECT_EQ(split.recovered, 0);
  EXPECT_NEAR(split.parts.underfitting, 1, 1e-12);
  EXPECT_EQ(split.parts.approximation, 0);
}

TEST(Decomposition, ModesAddUpToUnderfittingAndApproximation) {
  const Decomposition split = decompose(solve(power_law(1.0, 0.3)));
  ASSERT_EQ(split.modes.size(), 600U);
  ASSERT_GT(split.recovered, 3);
  double sum = 0;
  int recovered = 0;
  for (const ModeContribution& mode : split.modes) {
    sum += mode.contribution;
    recovered += mode.mode.recovered ? 1 : 0;
  }
  EXPECT_EQ(recovered, split.recovered);
  EXPECT_NEAR(sum, split.parts.underfitting + split.parts.approximation, 1e-12);
}

TEST(Decomposition, ABulkTeacherIsRecoveredAsOneBand) {
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.lambda = 0.01;
  problem.alpha = 40;
  problem.noise_out = 0.1;
  const Solution far = solve(problem);
  const Decomposition split = decompose(far);
  expect_exact_sum(far, split);
  EXPECT_TRUE(split.is_band);
  EXPECT_EQ(split.recovered, 100);
  EXPECT_EQ(split.parts.underfitting, 0);
  EXPECT_GT(split.parts.approximation, 0);
  problem.alpha = 0.1;
  const Decomposition near = decompose(solve(problem));
  EXPECT_EQ(near.recovered, 0);
  EXPECT_NEAR(near.parts.underfitting, 1.5, 1e-12);
}

// Noise inside the softmax: the student settles at a pseudo-true scale below 1, and first order is right near
// there.
TEST(Decomposition, RemainderFallsFasterThanTheErrorAboveSaturation) {
  Problem problem;
  problem.noise_in = 0.5;
  problem.lambda = 0.01;
  const QmcOptions qmc{.log2_points = 14, .scramblings = 8, .seed = 1};
  double previous = 1;
  for (double alpha : {2.0, 8.0, 32.0}) {
    problem.alpha = alpha;
    const Solution solution = solve(problem, {.qmc = qmc});
    const Decomposition split = decompose(solution, qmc);
    expect_exact_sum(solution, split);
    EXPECT_LT(split.scale.value, 1);
    const double excess = solution.test_error.value - split.saturation_error.value;
    const double share = std::abs(split.remainder.value / excess);
    EXPECT_LT(share, previous);
    previous = share;
  }
  EXPECT_LT(previous, 0.05);
}

TEST(Decomposition, RefusesWhatDidNotConverge) {
  Solution solution;
  solution.outcome = Outcome::stagnated;
  EXPECT_THROW(decompose(solution), InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
