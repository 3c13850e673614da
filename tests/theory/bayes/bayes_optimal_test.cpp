#include "qklab/theory/bayes/bayes_optimal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

constexpr SolveOptions small_sample{.qmc = {.log2_points = 10, .scramblings = 4}};

Problem attention(int tokens, double kappa0, double alpha) {
  Problem problem;
  problem.tokens = tokens;
  problem.teacher = WishartTeacher{kappa0};
  problem.alpha = alpha;
  return problem;
}

Problem quadratic_network(double kappa0, double alpha, double noise) {
  Problem problem = attention(1, kappa0, alpha);
  problem.activation = Activation::identity;
  problem.noise_out = noise;
  return problem;
}

/// The columns of a table of numbers under one line of names.
std::vector<std::vector<double>> published(const std::string& name) {
  std::ifstream file(std::string(QKLAB_TEST_DATA) + "/aim-bayes-optimal/" + name);
  std::vector<std::vector<double>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(std::stod(field));
  }
  return rows;
}

TEST(BayesOptimal, PublishedStateEvolution) {
  const std::vector<std::pair<const char*, double>> tables{{"SE_softmax_T=2_rho=0.1.csv", 0.1},
                                                           {"SE_softmax_T=2_rho=0.3.csv", 0.3},
                                                           {"SE_softmax_T=2_rho=0.5.csv", 0.5}};
  for (const auto& [name, kappa0] : tables) {
    const auto rows = published(name);
    ASSERT_GT(rows.size(), 200U);
    const double recovery = bayes_recovery_alpha(attention(2, kappa0, 1));
    double largest = 0;
    for (std::size_t i = 0; i < rows.size(); i += 2) {
      const std::vector<double>& row = rows[i];
      // Next to recovery their loop stops early.
      if (std::abs(row[1] / recovery - 1) < 0.05) continue;
      const BayesSolution solution = solve_bayes(attention(2, kappa0, row[1]), small_sample);
      ASSERT_EQ(solution.outcome, Outcome::converged);
      largest = std::max(largest, std::abs(solution.squared_error - row[2]));
    }
    EXPECT_LT(largest, 2e-3) << name;
  }
}

TEST(BayesOptimal, PublishedMessagePassingForThreeTokens) {
  // Finite d: an error of order 1/d beside the spread over instances.
  for (const std::vector<double>& row : published("AMP_softmax_T=3_rho=0.5.csv")) {
    const double error = solve_bayes(attention(3, 0.5, row[0]), small_sample).squared_error;
    EXPECT_NEAR(error, row[1], 2 * row[2] + 0.02) << row[0];
  }
}

TEST(BayesOptimal, RecoveryWherePublished) {
  EXPECT_DOUBLE_EQ(bayes_recovery_alpha(attention(2, 0.5, 1)), 0.1875);
  for (double kappa0 : {0.1, 0.5, 0.9}) {
    for (int tokens : {2, 3}) {
      const double expected = 2 * (kappa0 - kappa0 * kappa0 / 2) / (tokens * tokens + tokens - 2);
      EXPECT_NEAR(bayes_recovery_alpha(attention(tokens, kappa0, 0.7)), expected, 1e-15);
    }
  }
  EXPECT_DOUBLE_EQ(bayes_recovery_alpha(attention(2, 1.7, 1)), 0.25);
}

TEST(BayesOptimal, ErrorEndsContinuouslyAtRecovery) {
  const double recovery = bayes_recovery_alpha(attention(2, 0.5, 1));
  double previous = 1;
  for (double distance : {1e-2, 1e-4, 1e-6, 1e-9, 1e-12}) {
    const BayesSolution below = solve_bayes(attention(2, 0.5, recovery * (1 - distance)), small_sample);
    EXPECT_EQ(below.outcome, Outcome::converged);
    EXPECT_LE(below.residual, 1e-9);
    EXPECT_GT(below.squared_error, 0);
    EXPECT_LT(below.squared_error, previous);
    previous = below.squared_error;
  }
  // The digits stay: Q0 - q = free share * delta^2, and delta^2 is linear in the distance to recovery.
  const double near = solve_bayes(attention(2, 0.5, recovery * (1 - 1e-8)), small_sample).squared_error;
  const double nearer = solve_bayes(attention(2, 0.5, recovery * (1 - 1e-9)), small_sample).squared_error;
  EXPECT_NEAR(near / nearer, 10, 1e-4);
  for (double alpha : {recovery, 1.1 * recovery, 10.0}) {
    const BayesSolution above = solve_bayes(attention(2, 0.5, alpha), small_sample);
    EXPECT_EQ(above.outcome, Outcome::converged);
    EXPECT_EQ(above.squared_error, 0);
    EXPECT_EQ(above.overlap, 1.5);
    EXPECT_EQ(above.test_error.value, 0);
  }
}

/// The state evolution as message passing runs it, from a given error.
double iterate(double kappa0, double samples, double error, int steps) {
  for (int i = 0; i < steps; ++i) error = wishart_denoising_error(kappa0, std::sqrt(error / samples));
  return error;
}

TEST(BayesOptimal, IterationFromBothEndsLeadsToTheSamePoint) {
  for (double kappa0 : {0.1, 0.5, 2.0}) {
    for (double share : {0.3, 0.8}) {
      const double alpha = share * bayes_recovery_alpha(attention(2, kappa0, 1));
      const double error = solve_bayes(attention(2, kappa0, alpha), small_sample).squared_error;
      EXPECT_NEAR(iterate(kappa0, 4 * alpha, 1 + kappa0, 300), error, 1e-8);
      EXPECT_NEAR(iterate(kappa0, 4 * alpha, 1e-6, 300), error, 1e-8);
    }
  }
}

TEST(BayesOptimal, NoRatioOfRanksHasTwoSolutions) {
  for (double kappa0 : {0.01, 0.1, 0.5, 0.95, 1.0, 1.05, 3.0}) {
    double previous = 1;
    for (double log_delta = -5; log_delta < 3; log_delta += 0.1) {
      const double delta = std::pow(10, log_delta);
      const double share = wishart_denoising_error(kappa0, delta) / (delta * delta);
      EXPECT_LT(share, previous * (1 + 1e-11)) << kappa0 << " " << delta;
      previous = share;
    }
  }
}

TEST(BayesOptimal, ManyRanksMakeAGaussianTeacher) {
  // kappa0 -> infinity: S0 - sqrt(kappa0) is a GOE matrix, whose error is 1/(1 + 1/delta^2), up to
  // O(1/kappa0).
  for (double delta : {0.3, 1.0, 4.0}) {
    EXPECT_NEAR(wishart_denoising_error(1e4, delta), 1 / (1 + 1 / (delta * delta)), 1e-4);
  }
}

TEST(BayesOptimal, NothingIsBetter) {
  for (double noise : {0.05, 0.5, 3.0}) {
    for (double alpha : {0.2, 0.6, 2.0}) {
      const Problem problem = quadratic_network(0.5, alpha, noise);
      const double bayes = solve_bayes(problem).test_error.value;
      double best = 10;
      for (double lambda = 1e-3; lambda < 10; lambda *= 1.3) {
        Problem trained = problem;
        trained.lambda = lambda;
        best = std::min(best, solve(trained).test_error.value);
      }
      EXPECT_LT(bayes, best);
      EXPECT_GT(bayes, 0.4 * best);
    }
  }
}

TEST(BayesOptimal, NoiseMovesEveryErrorAndNoNoiseIsItsLimit) {
  double previous = 0;
  for (double noise : {0.0, 1e-8, 1e-2, 0.1, 1.0, 100.0}) {
    Problem problem = attention(2, 0.5, 0.15);
    problem.noise_in = noise;
    const BayesSolution solution = solve_bayes(problem, small_sample);
    EXPECT_EQ(solution.outcome, Outcome::converged);
    EXPECT_GT(solution.squared_error, previous);
    // qhat is the information of 2 alpha r samples of noise Q0 - q + Delta.
    EXPECT_NEAR(solution.overlap_hat * (solution.squared_error + noise), 4 * 0.15, 1e-9);
    previous = solution.squared_error;
  }
  Problem recovered = attention(2, 0.5, 0.3);
  recovered.noise_in = 1e-9;
  EXPECT_LT(solve_bayes(recovered, small_sample).squared_error, 1e-8);
}

TEST(BayesOptimal, WhatItDoesNotCoverIsRefused) {
  const auto refused = [](auto change) {
    Problem problem;
    change(problem);
    EXPECT_THROW(solve_bayes(problem), InvalidParameter);
  };
  refused([](Problem& problem) { problem.noise_out = 0.1; });
  refused([](Problem& problem) { problem.teacher = PowerLawTeacher{}; });
  refused([](Problem& problem) { problem.activation = Activation::hermite2; });
  refused([](Problem& problem) { problem.alpha = -1; });
  Problem noisy;
  noisy.noise_in = 0.1;
  EXPECT_THROW(bayes_recovery_alpha(noisy), InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
