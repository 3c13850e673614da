#include "qklab/theory/erm/state_evolution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

Problem one_token(double alpha, double lambda, double noise) {
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.alpha = alpha;
  problem.lambda = lambda;
  problem.noise_out = noise;
  return problem;
}

double objective(const Solution& solution) {
  return solution.train_loss.value + solution.regularization.value;
}

// One token, direct: V solves V (2 alpha/(V + 1/4) + 4 lambda) = 1, a quadratic equation; m and q follow.
TEST(StateEvolution, DirectQuadraticNetworkHasAClosedForm) {
  for (double alpha : {0.3, 1.0, 5.0}) {
    Problem problem = one_token(alpha, 0.05, 0.4);
    problem.parametrization = Parametrization::direct;
    const double lambda = problem.lambda;
    const double Q0 = 1.5;
    // 4 lambda V^2 + (2 alpha + lambda - 1) V - 1/4 = 0
    const double linear = 2 * alpha + lambda - 1;
    const double V = (-linear + std::sqrt(linear * linear + 4 * lambda)) / (8 * lambda);
    const double hat = 2 * alpha / (V + 0.25);
    const double m = hat * Q0 * V;
    // q = V^2 (hat^2 Q0 + qhat), qhat = 2 alpha (Q0 - 2 m + q + noise/2)/(V + 1/4)^2
    const double gain = 2 * alpha * V * V / std::pow(V + 0.25, 2);
    const double q = (hat * hat * V * V * Q0 + gain * (Q0 - 2 * m + 0.2)) / (1 - gain);
    const Solution solution = solve(problem);
    ASSERT_EQ(solution.outcome, Outcome::converged);
    EXPECT_NEAR(solution.susceptibility.value, V, 1e-9 * V);
    EXPECT_NEAR(solution.overlap.value, m, 1e-9);
    EXPECT_NEAR(solution.self_overlap.value, q, 1e-8);
    EXPECT_NEAR(solution.stability.value, gain / (V * V) * V * V, 1e-8);
  }
}

// Envelope theorem: d(train_loss + regularization)/d lambda = Tr S/d = regularization/lambda.
TEST(StateEvolution, SlopeOfTheObjectiveIsTheTrace) {
  for (double lambda : {0.02, 0.2}) {
    const double h = 1e-4 * lambda;
    const double slope = (objective(solve(one_token(0.7, lambda + h, 0.3))) -
                          objective(solve(one_token(0.7, lambda - h, 0.3)))) /
                         (2 * h);
    EXPECT_NEAR(slope, solve(one_token(0.7, lambda, 0.3)).regularization.value / lambda, 1e-6);
  }
}

TEST(StateEvolution, SlopeOfTheObjectiveIsTheTraceForTheSoftmaxToo) {
  Problem problem;
  problem.noise_in = 0.2;
  problem.lambda = 0.05;
  const SolveOptions options{.qmc = {.log2_points = 13}, .tolerance = 1e-9};
  const Solution middle = solve(problem, options);
  const double h = 0.02 * problem.lambda;
  problem.lambda = 0.05 + h;
  const double up = objective(solve(problem, options));
  problem.lambda = 0.05 - h;
  const double down = objective(solve(problem, options));
  // The sampled map is not exactly variational: its own error bounds the agreement.
  EXPECT_NEAR((up - down) / (2 * h), middle.regularization.value / 0.05,
              2e-3 * middle.regularization.value / 0.05);
}

TEST(StateEvolution, ManySamplesWithoutNoiseRecoverTheTeacher) {
  const Solution solution = solve(one_token(50, 1e-3, 0));
  ASSERT_EQ(solution.outcome, Outcome::converged);
  EXPECT_LT(solution.test_error.value, 1e-8);
  EXPECT_NEAR(solution.zero_fraction.value, 0.5, 1e-6);
}

TEST(StateEvolution, RecoveryThresholdOfTheNoiselessQuadraticNetwork) {
  // alpha_rec = 0.42218 at kappa0 = 1/2: a weak penalty is harmless above and not below (docs/theory section
  // 3).
  const Solution below = solve(one_token(0.9 * 0.42218, 1e-4, 0));
  const Solution above = solve(one_token(1.1 * 0.42218, 1e-4, 0));
  ASSERT_EQ(below.outcome, Outcome::converged);
  ASSERT_EQ(above.outcome, Outcome::converged);
  EXPECT_NEAR(below.test_error.value / 2, 0.0190, 2e-4);
  EXPECT_NEAR(above.test_error.value / 2, 4.2e-7, 0.3e-7);
}

TEST(StateEvolution, WeakDecayIsSolvedNextToThresholds) {
  // Recovery and interpolation of one token lie at 0.16 to 0.5: V grows without bound on one side as the
  // decay falls.
  for (double kappa0 : {0.1, 0.5, 1.0}) {
    for (double noise : {0.0, 0.2}) {
      for (double alpha = 0.12; alpha < 0.6; alpha *= 1.08) {
        for (double lambda : {1e-4, 1e-6}) {
          Problem problem = one_token(alpha, lambda, noise);
          problem.teacher = WishartTeacher{kappa0};
          const Solution solution = solve(problem);
          EXPECT_EQ(solution.outcome, Outcome::converged)
              << kappa0 << " " << noise << " " << alpha << " " << lambda << " " << solution.residual;
          EXPECT_GT(solution.susceptibility.value, 0);
        }
      }
    }
  }
}

TEST(StateEvolution, HugeWeightDecayGivesZero) {
  for (Activation activation : {Activation::identity, Activation::softmax}) {
    Problem problem;
    problem.activation = activation;
    problem.lambda = 1e3;
    const Solution solution = solve(problem);
    EXPECT_EQ(solution.outcome, Outcome::zero_solution);
    EXPECT_EQ(solution.overlap.value, 0);
    EXPECT_EQ(solution.zero_fraction.value, 1);
    EXPECT_GT(solution.test_error.value, 0);
    EXPECT_TRUE(solution.edges.empty());
  }
}

TEST(StateEvolution, ZeroIsReachedContinuously) {
  // At the largest useful weight decay the top of the spectrum of X meets the threshold.
  Problem problem = one_token(1, 1, 0.5);
  double lo = 0.1;
  double hi = 100;
  for (int i = 0; i < 40; ++i) {
    problem.lambda = std::sqrt(lo * hi);
    (solve(problem).outcome == Outcome::zero_solution ? hi : lo) = problem.lambda;
  }
  problem.lambda = 0.98 * lo;
  const Solution solution = solve(problem);
  ASSERT_EQ(solution.outcome, Outcome::converged);
  EXPECT_GT(solution.overlap.value, 0);
  EXPECT_LT(solution.overlap.value, 0.05);
}

TEST(StateEvolution, StartDoesNotMatter) {
  Problem problem;
  problem.noise_in = 0.3;
  const Solution cold = solve(problem);
  Problem other = problem;
  other.alpha = 3;
  other.lambda = 0.1;
  const Solution warm = solve(problem, {}, solve(other));
  ASSERT_EQ(cold.outcome, Outcome::converged);
  ASSERT_EQ(warm.outcome, Outcome::converged);
  EXPECT_NEAR(cold.overlap.value, warm.overlap.value, 1e-5);
  EXPECT_NEAR(cold.test_error.value, warm.test_error.value, 1e-6);
}

TEST(StateEvolution, SweepEqualsSinglePoints) {
  std::vector<Problem> problems;
  for (double alpha : {0.2, 0.5, 1.5}) {
    Problem problem;
    problem.noise_in = 0.5;
    problem.alpha = alpha;
    problems.push_back(problem);
  }
  const auto sweep = solve_sweep(problems);
  ASSERT_EQ(sweep.size(), problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    EXPECT_NEAR(sweep[i].test_error.value, solve(problems[i]).test_error.value, 1e-5);
  }
}

TEST(StateEvolution, StandardErrorCoversALargerSample) {
  Problem problem;
  problem.noise_in = 0.5;
  problem.lambda = 0.05;
  const Solution truth = solve(problem, {.qmc = {.log2_points = 17, .seed = 99}});
  int covered = 0;
  constexpr int trials = 12;
  for (int trial = 0; trial < trials; ++trial) {
    const Solution solution =
        solve(problem,
              {.qmc = {.log2_points = 11, .seed = static_cast<std::uint64_t>(1 + trial)}, .tolerance = 1e-6});
    ASSERT_EQ(solution.outcome, Outcome::converged);
    covered += std::abs(solution.overlap.value - truth.overlap.value) < 2.5 * solution.overlap.se;
  }
  EXPECT_GE(covered, 9);  // binomial(12, 0.96) is below 9 with probability 1e-3
}

TEST(StateEvolution, BadInputIsRefused) {
  Problem problem;
  problem.alpha = -1;
  EXPECT_THROW(solve(problem), InvalidParameter);
  problem.alpha = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(solve(problem), InvalidParameter);
  problem.alpha = 1;
  problem.activation = Activation::hermite2;
  EXPECT_THROW(solve(problem), InvalidParameter);
  EXPECT_THROW(solve(Problem{}, {.tolerance = 0}), InvalidParameter);
}

// Near interpolation one proximal problem in a hundred has competing minima. Whatever the redraws, a solution
// converges and agrees with that of other sampling points.
TEST(StateEvolution, ConvergesWhereTheSampledMapJumps) {
  Problem problem;
  problem.noise_in = 0.3;
  problem.lambda = 0.001;
  SolveOptions options{.qmc = {.log2_points = 13}};
  SolveOptions others{.qmc = {.log2_points = 13, .seed = 2}};
  for (double alpha : {0.27, 0.29, 0.31}) {
    problem.alpha = alpha;
    const Solution one = solve(problem, options);
    const Solution other = solve(problem, others);
    ASSERT_EQ(one.outcome, Outcome::converged);
    ASSERT_EQ(other.outcome, Outcome::converged);
    EXPECT_GT(one.competing_minima, 0);
    EXPECT_NEAR(one.test_error.value, other.test_error.value,
                4 * std::hypot(one.test_error.se, other.test_error.se));
  }
}

}  // namespace
}  // namespace qklab::theory
