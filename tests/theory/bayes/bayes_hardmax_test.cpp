#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "qklab/channel/bayes/bayes_residual.hpp"
#include "qklab/channel/bayes/hardmax_expectation.hpp"
#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/iterates.hpp"

namespace qklab::theory {
namespace {

constexpr SolveOptions small_sample{.qmc = {.log2_points = 12, .scramblings = 4}};

Problem hardmax(int tokens, double alpha, double kappa0 = 0.5) {
  Problem problem;
  problem.activation = Activation::hardmax;
  problem.tokens = tokens;
  problem.alpha = alpha;
  problem.teacher = WishartTeacher{kappa0};
  return problem;
}

TEST(BayesHardmax, FixedPointAndItsSampledChannel) {
  // qhat from simulated labels: E g . (e0 - w)/V = E |g|^2 by Nishimori's identity.
  for (int tokens : {2, 3}) {
    for (double noise : {0.0, 0.4}) {
      Problem problem = hardmax(tokens, 0.7);
      problem.noise_in = noise;
      const BayesSolution solution = solve_bayes(problem, small_sample);
      ASSERT_EQ(solution.outcome, Outcome::converged);
      EXPECT_NEAR(wishart_denoising_error(0.5, 1 / std::sqrt(solution.overlap_hat)), solution.squared_error,
                  1e-9);
      const Channel channel{Activation::hardmax, tokens, 1.0};
      const int pairs = channel.pair_count();
      const BayesResidual residual(channel, noise, 0);
      std::mt19937_64 generator(1);
      std::normal_distribution<double> normal;
      const int draws = tokens == 2 ? 20000 : 2000;
      std::vector<double> squares;
      std::vector<double> products;
      for (int i = 0; i < draws; ++i) {
        std::vector<double> w(static_cast<std::size_t>(pairs));
        std::vector<double> e0(w.size());
        std::vector<double> g(w.size());
        std::vector<double> scores;
        for (int a = 0, k = 0; a < tokens; ++a) {
          for (int b = a; b < tokens; ++b, ++k) {
            w[k] = std::sqrt(solution.overlap) * normal(generator);
            e0[k] = w[k] + std::sqrt(solution.squared_error) * normal(generator);
            scores.push_back((e0[k] + std::sqrt(noise) * normal(generator)) *
                             (a == b ? std::numbers::sqrt2 : 1));
          }
        }
        std::vector<double> label(static_cast<std::size_t>(tokens) * tokens);
        attention(channel, 1, scores.data(), label.data());
        residual(label.data(), w.data(), solution.squared_error, g.data());
        squares.push_back(0);
        products.push_back(0);
        for (std::size_t k = 0; k < w.size(); ++k) {
          squares.back() += g[k] * g[k];
          products.back() += g[k] * (e0[k] - w[k]) / solution.squared_error;
        }
      }
      for (const auto& values : {squares, products}) {
        const Estimate mean = mean_and_error(values);
        EXPECT_NEAR(2 * problem.alpha * mean.value, solution.overlap_hat, 8 * problem.alpha * mean.se);
      }
    }
  }
}

TEST(BayesHardmax, FirstLabelsOfTwoTokens) {
  // At w = 0 all derivatives of the bivariate normal are known.
  const double same = 0.25 + std::asin(1.0 / 3) / (2 * std::numbers::pi);
  const double expected = 2 / (3 * std::numbers::pi * same) + 1 / (3 * std::numbers::pi * (0.5 - same));
  HardmaxExpectation expectation(2, small_sample.qmc);
  for (double value : expectation.sampled_information(0)) EXPECT_NEAR(value, expected, 1e-11);
  for (double value : expectation.information(0)) EXPECT_NEAR(value, expected, 1e-11);
}

TEST(BayesHardmax, FewLabelsInDoubtAreThoseNextToAStep) {
  // rho -> infinity, two tokens: two steps, each a probit of a coordinate w ~ N(0, rho):
  // psi -> 2/sqrt(2 pi rho) int phi^2/(Phi (1 - Phi)).
  double integral = 0;
  const double step = 0.01;
  for (double x = -12; x < 12; x += step) {
    const double mass = 0.5 * std::erfc(x / std::numbers::sqrt2) * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    integral += step * std::exp(-x * x) / (2 * std::numbers::pi) / mass;
  }
  HardmaxExpectation expectation(2, {.log2_points = 18, .scramblings = 4});
  const double ratio = 2000;
  const Estimate found = mean_and_error(expectation.sampled_information(ratio));
  const double expected = 2 / std::sqrt(2 * std::numbers::pi * ratio) * integral;
  EXPECT_NEAR(found.value, expected, 4 * found.se + 0.01 * expected);
  EXPECT_LT(found.se, 0.02 * expected);
}

TEST(BayesHardmax, InterpolatesWhatItSamples) {
  for (int tokens : {2, 3}) {
    HardmaxExpectation expectation(tokens, {.log2_points = 12, .scramblings = 4});
    for (double ratio : {0.01, 0.37, 4.0, 33.0}) {
      const Estimate sampled = mean_and_error(expectation.sampled_information(ratio));
      const Estimate interpolated = mean_and_error(expectation.information(ratio));
      EXPECT_NEAR(interpolated.value, sampled.value, std::max(1e-5 * sampled.value, 0.3 * sampled.se))
          << tokens << " " << ratio;
    }
  }
}

TEST(BayesHardmax, LabelsTellLessThanTheScoresAndMoreOfThemTellMore) {
  for (int tokens : {2, 3}) {
    BayesSolver solver(small_sample);
    double previous = 1.5;
    for (double alpha : {1e-3, 0.1, 1.0}) {
      const BayesSolution solution = solver.solve(hardmax(tokens, alpha));
      ASSERT_EQ(solution.outcome, Outcome::converged);
      Problem scores = hardmax(tokens, alpha);
      scores.activation = Activation::softmax;
      EXPECT_GT(solution.squared_error, solve_bayes(scores, small_sample).squared_error);
      EXPECT_LT(solution.squared_error, previous);
      EXPECT_GT(solution.squared_error_se, 0);
      EXPECT_LT(solution.squared_error_se, 0.1 * solution.squared_error);
      Problem noisy = hardmax(tokens, alpha);
      noisy.noise_in = 0.3;
      EXPECT_GT(solver.solve(noisy).squared_error, solution.squared_error);
      previous = solution.squared_error;
    }
  }
}

TEST(BayesHardmax, ErrorVanishesAsTheInverseSquareOfTheData) {
  // qhat = 2 alpha C/sqrt(V) and V = phi(0)/qhat: V falls like alpha^-2, with no threshold.
  BayesSolver solver({.qmc = {.log2_points = 16, .scramblings = 8}});
  const BayesSolution near = solver.solve(hardmax(2, 40));
  const BayesSolution nearer = solver.solve(hardmax(2, 80));
  const double error =
      std::hypot(near.squared_error_se / near.squared_error, nearer.squared_error_se / nearer.squared_error);
  EXPECT_LT(error, 0.2);
  EXPECT_NEAR(std::log(near.squared_error / nearer.squared_error), std::log(4), 3 * error);
  EXPECT_THROW(bayes_recovery_alpha(hardmax(2, 1)), InvalidParameter);
}

TEST(BayesHardmax, BothEndsOfTheIterationMeet) {
  for (double kappa0 : {0.1, 2.0}) {
    for (double alpha : {0.05, 1.0}) {
      const Problem problem = hardmax(2, alpha, kappa0);
      const double overlap = solve_bayes(problem, small_sample).overlap;
      EXPECT_NEAR(bayes_iterates(problem, 0, 80, small_sample).back().overlap, overlap, 1e-6);
      EXPECT_NEAR(bayes_iterates(problem, 0.999 * (1 + kappa0), 80, small_sample).back().overlap, overlap,
                  1e-6);
    }
  }
}

TEST(BayesHardmax, TestErrorCountsTheRowsThatDiffer) {
  std::mt19937_64 generator(2);
  std::normal_distribution<double> normal;
  for (int tokens : {2, 3}) {
    const Channel channel{Activation::hardmax, tokens, 1.0};
    const double error = 0.4;
    const int draws = 40000;
    std::vector<double> differences;
    for (int i = 0; i < draws; ++i) {
      std::vector<double> student;
      std::vector<double> teacher;
      for (int a = 0; a < tokens; ++a) {
        for (int b = a; b < tokens; ++b) {
          const double spread = a == b ? std::numbers::sqrt2 : 1;
          student.push_back(spread * std::sqrt(1.5 - error) * normal(generator));
          teacher.push_back(student.back() + spread * std::sqrt(error) * normal(generator));
        }
      }
      std::vector<double> left(static_cast<std::size_t>(tokens) * tokens);
      std::vector<double> right(left.size());
      attention(channel, 1, student.data(), left.data());
      attention(channel, 1, teacher.data(), right.data());
      differences.push_back(0);
      for (std::size_t k = 0; k < left.size(); ++k) differences.back() += std::pow(left[k] - right[k], 2);
    }
    const Estimate truth = mean_and_error(differences);
    const Estimate found = mean_and_error(HardmaxExpectation(tokens, {}).test_error(1.5, error));
    EXPECT_NEAR(found.value, truth.value, 4 * std::hypot(truth.se, found.se));
  }
}

TEST(BayesIterates, AreThoseOfTheEquationsAndEndAtTheSolution) {
  Problem softmax;
  softmax.alpha = 0.1;
  const std::vector<Iterate> path = bayes_iterates(softmax, 0, 60, small_sample);
  ASSERT_EQ(path.size(), 61U);
  EXPECT_EQ(path[0].overlap, 0);
  EXPECT_EQ(path[0].susceptibility, 1.5);
  EXPECT_NEAR(path[0].hats.overlap_hat, 4 * 0.1 / 1.5, 1e-14);
  EXPECT_NEAR(path[1].susceptibility, wishart_denoising_error(0.5, std::sqrt(1.5 / 0.4)), 1e-12);
  for (std::size_t t = 1; t < path.size(); ++t) {
    EXPECT_GE(path[t].overlap, path[t - 1].overlap - 1e-12);
    EXPECT_LE(path[t].test_error.value, path[t - 1].test_error.value + 1e-9);
  }
  const BayesSolution end = solve_bayes(softmax, small_sample);
  EXPECT_NEAR(path.back().overlap, end.overlap, 1e-6);
  EXPECT_NEAR(path.back().test_error.value, end.test_error.value, 1e-6);
  EXPECT_EQ(bayes_iterates(softmax, 1.5, 3, small_sample).back().susceptibility, 0);
  EXPECT_THROW(bayes_iterates(softmax, -0.1, 3), InvalidParameter);
  EXPECT_THROW(bayes_iterates(softmax, 1.6, 3), InvalidParameter);
  EXPECT_THROW(bayes_iterates(softmax, 0.5, -1), InvalidParameter);
}

TEST(BayesHardmax, WhatItDoesNotCoverIsRefused) {
  Problem noisy = hardmax(2, 1);
  noisy.noise_out = 0.1;
  EXPECT_THROW(solve_bayes(noisy), InvalidParameter);
  EXPECT_THROW(solve_bayes(hardmax(4, 1)), InvalidParameter);
  EXPECT_THROW(solve(hardmax(2, 1)), InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
