#include "qklab/theory/erm/iterates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

// One token, direct: every iterate is a rational function of the one before it.
TEST(Iterates, DirectQuadraticNetworkHasAClosedForm) {
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.parametrization = Parametrization::direct;
  problem.alpha = 1.3;
  problem.lambda = 0.05;
  problem.noise_out = 0.4;
  const double Q0 = 1.5;
  const std::vector<Iterate> path = iterates(problem, {0, 0, 0.7}, 6);
  ASSERT_EQ(path.size(), 7U);
  double m = 0;
  double q = 0;
  double V = 0.7;
  for (const Iterate& iterate : path) {
    EXPECT_NEAR(iterate.overlap, m, 1e-12);
    EXPECT_NEAR(iterate.self_overlap, q, 1e-12);
    EXPECT_NEAR(iterate.susceptibility, V, 1e-12);
    EXPECT_NEAR(iterate.test_error.value, 2 * (Q0 - 2 * m + q), 1e-11);
    const double hat = 2 * problem.alpha / (V + 0.25);
    const double noise = 2 * problem.alpha * (Q0 - 2 * m + q + 0.2) / std::pow(V + 0.25, 2);
    EXPECT_NEAR(iterate.hats.overlap_hat, hat, 1e-11);
    EXPECT_NEAR(iterate.hats.self_overlap_hat, noise, 1e-11);
    EXPECT_NEAR(iterate.hats.susceptibility_hat, hat, 1e-11);
    V = 1 / (hat + 4 * problem.lambda);
    m = hat * Q0 * V;
    q = V * V * (hat * hat * Q0 + noise);
  }
}

// Where message passing is stable its state evolution ends at the minimiser's.
TEST(Iterates, SettleAtTheFixedPoint) {
  for (const Parametrization parametrization : {Parametrization::tied, Parametrization::direct}) {
    Problem problem;
    problem.alpha = 1;
    problem.lambda = 0.05;
    problem.noise_in = 0.2;
    problem.parametrization = parametrization;
    SolveOptions options;
    options.qmc.log2_points = 12;
    const Solution solution = solve(problem, options);
    const std::vector<Iterate> path = iterates(problem, {0, 0, 1}, 120, options);
    ASSERT_EQ(path.size(), 121U);
    EXPECT_EQ(path.front().self_overlap, 0);
    EXPECT_NEAR(path.back().overlap, solution.overlap.value, 1e-6);
    EXPECT_NEAR(path.back().self_overlap, solution.self_overlap.value, 1e-6);
    EXPECT_NEAR(path.back().susceptibility, solution.susceptibility.value, 1e-6);
    EXPECT_NEAR(path.back().hats.self_overlap_hat, solution.self_overlap_hat.value, 1e-5);
    EXPECT_NEAR(path.back().test_error.value, solution.test_error.value, 1e-6);
    EXPECT_GT(path.back().test_error.se, 0);
  }
}

TEST(Iterates, RefusesAnImpossibleStart) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(iterates(Problem{}, {0, 0, 0}, 3), InvalidParameter);
  EXPECT_THROW(iterates(Problem{}, {0, -0.1, 1}, 3), InvalidParameter);
  EXPECT_THROW(iterates(Problem{}, {nan, 0, 1}, 3), InvalidParameter);
  EXPECT_THROW(iterates(Problem{}, {0, 0, 1}, -1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
