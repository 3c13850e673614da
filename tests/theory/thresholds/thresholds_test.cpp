#include "qklab/theory/thresholds/thresholds.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "qklab/core/error.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/state_evolution.hpp"
#include "qklab/theory/thresholds/ridgeless.hpp"

namespace qklab::theory {
namespace {

Problem attention(int tokens, double kappa0) {
  Problem problem;
  problem.tokens = tokens;
  problem.teacher = WishartTeacher{kappa0};
  return problem;
}

Problem quadratic_network(double kappa0, double noise = 0) {
  Problem problem = attention(1, kappa0);
  problem.activation = Activation::identity;
  problem.noise_out = noise;
  return problem;
}

double recovery(const Problem& problem) {
  return thresholds(problem).recovery.alpha.value();
}

double interpolation(const Problem& problem) {
  return thresholds(problem).interpolation.alpha.value();
}

TEST(Thresholds, KnownNumbers) {
  EXPECT_NEAR(recovery(quadratic_network(0.5)), 0.42218, 1e-5);
  EXPECT_NEAR(recovery(attention(2, 0.5)), 0.21109, 1e-5);
  EXPECT_NEAR(recovery(attention(3, 0.5)), 0.08443, 1e-5);
  // Values of an independent program.
  Problem noisy = attention(2, 0.5);
  noisy.noise_in = 0.0128;
  EXPECT_NEAR(interpolation(noisy), 0.1862, 1e-4);
}

TEST(Thresholds, RecoveryCountsDegreesOfFreedom) {
  // Full rank: every entry must be seen. Vanishing rank: 6 k, the statistical dimension of the nuclear norm
  // at a matrix of low rank, three samples for each of 2 k free entries.
  EXPECT_EQ(recovery_shape(1, false).degrees, 1);
  for (bool two_sided : {false, true}) {
    EXPECT_NEAR(recovery_shape(1 - 1e-9, two_sided).degrees, 1, 1e-8);
    double previous = 0;
    for (double rank : {1e-2, 1e-4, 1e-6, 1e-8}) {
      const double times_rank = recovery_shape(rank, two_sided).degrees / rank;
      EXPECT_GT(times_rank, previous);
      EXPECT_LT(times_rank, 6);
      previous = times_rank;
    }
    EXPECT_NEAR(previous, 6, 0.01);
  }
  for (double rank : {0.01, 0.2, 0.5, 0.9}) {
    const RecoveryShape positive = recovery_shape(rank, false);
    // The target's own free entries are a lower bound, and positivity helps.
    EXPECT_GT(positive.degrees, rank * (2 - rank));
    EXPECT_LT(positive.degrees, recovery_shape(rank, true).degrees);
    EXPECT_LT(recovery_shape(rank, true).degrees, 1);
    EXPECT_GT(positive.rank, rank);
  }
}

TEST(Thresholds, RecoveryIsAMinimum) {
  // (6.4) by brute force: int_{x > t} (x - t)^2 over a semicircle, midpoint rule in the angle.
  const double rank = 0.3;
  const double radius = 2 * std::sqrt(1 - rank);
  double least = 10;
  for (double t = 0; t < radius; t += 1e-3) {
    double excess = 0;
    constexpr int steps = 2000;
    for (int i = 0; i < steps; ++i) {
      const double angle = M_PI * (i + 0.5) / steps;
      const double above = std::max(0.0, radius * std::cos(angle) - t);
      excess += above * above * 2 * std::sin(angle) * std::sin(angle) / steps;
    }
    least = std::min(least, rank * rank + rank * t * t + 2 * rank * (1 - rank) + (1 - rank) * excess);
  }
  EXPECT_NEAR(recovery_shape(rank, false).degrees, least, 1e-6);
}

TEST(Thresholds, ErrorsCollapseAtRecovery) {
  for (double kappa0 : {0.2, 0.5, 1.0}) {
    Problem problem = quadratic_network(kappa0);
    problem.lambda = 1e-4;
    double previous = 10;
    for (double ratio : {0.9, 0.97, 1.03, 1.1}) {
      problem.alpha = ratio * recovery(problem);
      const Solution solution = solve(problem);
      ASSERT_EQ(solution.outcome, Outcome::converged) << kappa0 << " " << ratio;
      EXPECT_LT(solution.test_error.value, previous);
      // Recovered, the error is of second order in lambda; not recovered, of order 1.
      Problem weaker = problem;
      weaker.lambda = 1e-5;
      const double drop = solution.test_error.value / solve(weaker).test_error.value;
      if (ratio > 1) {
        EXPECT_LT(solution.test_error.value, 3e-4);
        EXPECT_GT(drop, 30);
      } else {
        EXPECT_GT(solution.test_error.value, 3e-3);
        EXPECT_LT(drop, 1.5);
      }
      previous = solution.test_error.value;
    }
  }
}

TEST(Thresholds, TrainingLossVanishesUpToInterpolation) {
  for (double kappa0 : {0.1, 0.5, 2.0}) {
    for (double noise : {0.1, 1.0}) {
      Problem problem = quadratic_network(kappa0, noise);
      const auto loss = [&](double ratio, double lambda) {
        problem.alpha = ratio * interpolation(problem);
        problem.lambda = lambda;
        const Solution solution = solve(problem);
        EXPECT_EQ(solution.outcome, Outcome::converged) << kappa0 << " " << noise << " " << ratio;
        return solution.train_error.value;
      };
      EXPECT_LT(loss(0.97, 1e-5), 1e-7);
      EXPECT_GT(loss(1.03, 1e-5), 1e-5);
      // Below, the loss is of second order in lambda; above, of order 1.
      EXPECT_GT(loss(0.97, 1e-4) / loss(0.97, 1e-5), 50);
      EXPECT_LT(loss(1.03, 1e-4) / loss(1.03, 1e-5), 2);
    }
  }
}

TEST(Thresholds, PureNoiseIsInterpolatedUpToAQuarter) {
  EXPECT_NEAR(interpolation(quadratic_network(0.5, 1e6)), 0.25, 1e-4);
  // Vanishing noise: half of the complement's entries are free, all others fixed by the target.
  EXPECT_NEAR(interpolation(quadratic_network(0.5, 1e-9)), (1 - 0.5 * 0.25) / 2, 1e-3);
  // Several tokens: as many times fewer samples as there are visible scores.
  Problem softmax = attention(3, 0.5);
  softmax.noise_in = 0.3;
  EXPECT_NEAR(5 * interpolation(softmax), interpolation(quadratic_network(0.5, 0.6)), 1e-12);
}

TEST(Thresholds, DirectStudentsCountEquations) {
  Problem problem = quadratic_network(0.5);
  problem.parametrization = Parametrization::direct;
  EXPECT_EQ(recovery(problem), 0.5);
  problem.noise_out = 0.3;
  EXPECT_EQ(interpolation(problem), 0.5);
  problem.lambda = 1e-6;
  problem.alpha = 0.48;
  EXPECT_LT(solve(problem).train_error.value, 1e-8);
  problem.alpha = 0.52;
  EXPECT_GT(solve(problem).train_error.value, 1e-4);
}

TEST(Thresholds, StateEvolutionFollowedToThem) {
  // Recovery is followed at a remaining noise of 1e-6, which is the error it makes.
  for (double kappa0 : {0.1, 0.5, 1.0}) {
    const Problem one = quadratic_network(kappa0);
    EXPECT_NEAR(follow_to_recovery(one)->alpha / recovery(one), 1, 2e-6);
    const Problem noisy = quadratic_network(kappa0, 0.4);
    EXPECT_NEAR(follow_to_interpolation(noisy)->alpha / interpolation(noisy), 1, 1e-7);
    Problem two = attention(2, kappa0);
    EXPECT_NEAR(follow_to_recovery(two)->alpha / recovery(two), 1, 1e-4);
    two.noise_in = 0.2;
    EXPECT_NEAR(follow_to_interpolation(two)->alpha / interpolation(two), 1, 1e-3);
  }
  const Problem three = attention(3, 0.5);
  EXPECT_NEAR(follow_to_recovery(three)->alpha / recovery(three), 1, 1e-4);
  Problem untied = quadratic_network(0.5);
  untied.parametrization = Parametrization::untied;
  EXPECT_NEAR(follow_to_recovery(untied)->alpha / recovery(untied), 1, 2e-6);
  EXPECT_GT(recovery(untied), recovery(quadratic_network(0.5)));
  Problem direct = attention(2, 0.5);
  direct.parametrization = Parametrization::direct;
  EXPECT_NEAR(follow_to_recovery(direct)->alpha / recovery(direct), 1, 1e-4);
}

TEST(Thresholds, RidgelessStudentIsTheLimitOfWeakDecay) {
  for (double ratio : {0.2, 0.6, 0.9}) {
    Problem problem = quadratic_network(0.5);
    problem.alpha = ratio * recovery(problem);
    problem.lambda = 1e-6;
    const RidgelessStudent limit = ridgeless_student(problem);
    const Solution weak = solve(problem);
    EXPECT_NEAR(limit.overlap, weak.overlap.value, 1e-5);
    EXPECT_NEAR(limit.test_error.value, weak.test_error.value, 1e-5);
  }
  Problem softmax = attention(2, 0.5);
  softmax.alpha = 1.001 * recovery(softmax);
  EXPECT_EQ(ridgeless_student(softmax).test_error.value, 0);
  softmax.alpha = 0.999 * recovery(softmax);
  EXPECT_GT(ridgeless_student(softmax).test_error.value, 0);
  EXPECT_LT(ridgeless_student(softmax).test_error.value, 1e-4);
}

TEST(Thresholds, WhereThereIsNoneTheReasonIsGiven) {
  const auto reasons = [](auto change) {
    Problem problem = attention(2, 0.5);
    change(problem);
    const Thresholds found = thresholds(problem);
    EXPECT_EQ(found.recovery.alpha.has_value(), found.recovery.reason.empty());
    EXPECT_EQ(found.interpolation.alpha.has_value(), found.interpolation.reason.empty());
    return found.recovery.reason + "; " + found.interpolation.reason;
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_TRUE(has(reasons([](Problem& p) { p.noise_in = 0.1; }), "noise hides the target"));
  EXPECT_TRUE(has(reasons([](Problem& p) { p.noise_out = 0.1; }), "outside the range of the softmax"));
  EXPECT_TRUE(has(reasons([](Problem& p) { p.kappa = 0.4; }), "narrower than the target"));
  EXPECT_TRUE(has(reasons([](Problem& p) { p.kappa = 0.51; }), "no convex problem"));
  EXPECT_TRUE(has(reasons([](Problem& p) { p.parametrization = Parametrization::untied; }), "untied"));
  EXPECT_TRUE(has(reasons([](Problem&) {}), "interpolated at any alpha"));
  Problem unknown;
  unknown.activation = Activation::hermite2;
  EXPECT_THROW(thresholds(unknown), InvalidParameter);
  unknown.activation = Activation::hardmax;
  EXPECT_THROW(thresholds(unknown), InvalidParameter);
}

TEST(Thresholds, NothingBeatsThePosterior) {
  for (double kappa0 : {0.05, 0.5, 0.95, 1.0, 2.0}) {
    const Problem problem = attention(2, kappa0);
    const Thresholds found = thresholds(problem);
    EXPECT_GE(found.recovery.alpha.value(), found.bayes_recovery.alpha.value());
    EXPECT_LE(found.recovery.alpha.value(), found.counting);
    EXPECT_DOUBLE_EQ(found.bayes_recovery.alpha.value(), bayes_recovery_alpha(problem));
  }
}

}  // namespace
}  // namespace qklab::theory
