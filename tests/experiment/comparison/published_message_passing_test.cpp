// Bayes-optimal message passing against the published one (arXiv 2506.01582), at the same d, and against its
// own state evolution. The whole comparison:
//
//   experiment_tests --gtest_also_run_disabled_tests --gtest_filter='*EveryPublishedPoint*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "qklab/core/standard_error.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/iterates.hpp"

namespace qklab {
namespace {

/// The published runs: d, instances a point, and the rule that ends an iteration.
constexpr int published_dimension = 150;
constexpr int published_instances = 20;
constexpr int published_iterations = 100;
constexpr double published_step = 1e-5;  ///< on |S^(t+1) - S^t|^2/d

struct PublishedPoint {
  double alpha;
  double squared_error;
  double spread;  ///< standard deviation over instances
};

std::vector<PublishedPoint> published(int tokens) {
  std::ifstream file(
      fmt::format("{}/aim-bayes-optimal/AMP_softmax_T={}_rho=0.5.csv", QKLAB_TEST_DATA, tokens));
  std::vector<PublishedPoint> points;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::vector<double> row;
    for (std::string field; std::getline(fields, field, ',');) row.push_back(std::stod(field));
    points.push_back({row.at(0), row.at(1), row.at(2)});
  }
  return points;
}

Problem problem_at(int tokens, double alpha) {
  Problem problem;
  problem.tokens = tokens;
  problem.alpha = alpha;
  problem.dimension = published_dimension;
  return problem;
}

/// Tr((S - S0)^2)/d where the published rule ends the iteration, and after all iterations.
struct Ends {
  double published;
  double last;
};

Ends ends_of(const Problem& problem, std::uint64_t seed, int iterations) {
  lab::AmpOptions options;
  options.estimator = lab::AmpEstimator::bayes;
  options.max_iterations = iterations;
  options.tolerance = 1e-6;
  options.test_samples = 2;
  const lab::AmpRun run = lab::run_amp(problem, options, seed);
  for (std::size_t t = 1; t < run.iterations.size(); ++t) {
    const lab::AmpIteration& now = run.iterations[t];
    const double moved = (1 - now.damping) * now.residual;
    const bool ends = moved * moved * now.self_overlap.symmetric < published_step;
    if (ends || static_cast<int>(t) + 1 >= published_iterations)
      return {now.squared_error, run.squared_error};
  }
  return {run.squared_error, run.squared_error};
}

/// In standard errors of the difference of two means, with the published spread for both.
double deviation(const PublishedPoint& point, double ours, int instances) {
  return (ours - point.squared_error) /
         (point.spread * std::sqrt(1.0 / published_instances + 1.0 / instances));
}

TEST(PublishedMessagePassing, MeetsOursAtTheSameDimension) {
  const struct {
    int tokens;
    std::size_t place;
  } chosen[] = {{2, 6}, {2, 9}, {3, 1}, {3, 3}};
  for (const auto& [tokens, place] : chosen) {
    const PublishedPoint point = published(tokens).at(place);
    const double ours = ends_of(problem_at(tokens, point.alpha), 1, 25).published;
    EXPECT_LT(std::abs(deviation(point, ours, 1)), 3) << tokens << " tokens, alpha = " << point.alpha;
  }
}

TEST(PublishedMessagePassing, DISABLED_EveryPublishedPoint) {
  constexpr int seeds = 4;
  std::printf("T   alpha     published        ours, their rule   deviation   ours, converged    theory\n");
  for (int tokens : {2, 3}) {
    for (const PublishedPoint& point : published(tokens)) {
      const Problem problem = problem_at(tokens, point.alpha);
      std::vector<double> ended;
      std::vector<double> last;
      for (int seed = 1; seed <= seeds; ++seed) {
        const Ends ends = ends_of(problem, static_cast<std::uint64_t>(seed), 150);
        ended.push_back(ends.published);
        last.push_back(ends.last);
      }
      const Estimate ours = mean_and_error(ended);
      const Estimate converged = mean_and_error(last);
      const theory::SolveOptions sampling{.qmc = {.log2_points = 10, .scramblings = 2}};
      std::printf("%d   %.4f   %.5f (%.5f)   %.5f (%.5f)   %+.1f   %.3g (%.1g)   %.5f\n", tokens, point.alpha,
                  point.squared_error, point.spread, ours.value, ours.se, deviation(point, ours.value, seeds),
                  converged.value, converged.se, theory::solve_bayes(problem, sampling).squared_error);
      std::fflush(stdout);
    }
  }
}

TEST(BayesMessagePassing, FollowsItsStateEvolutionWithoutDamping) {
  // alpha d = 200: the noise in R is close to a GOE matrix.
  Problem problem;
  problem.alpha = 2;
  problem.dimension = 100;
  problem.noise_in = 2;
  for (Activation activation : {Activation::softmax, Activation::hardmax}) {
    problem.activation = activation;
    lab::AmpOptions options;
    options.estimator = lab::AmpEstimator::bayes;
    options.damp_when_needed = false;
    options.max_iterations = 6;
    options.test_samples = 2;
    const lab::AmpRun run = lab::run_amp(problem, options, 1);
    const auto predicted =
        theory::bayes_iterates(problem, 0, 6, {.qmc = {.log2_points = 12, .scramblings = 4}});
    ASSERT_EQ(run.iterations.size(), 6U);
    for (std::size_t t = 0; t < 6; ++t) {
      const lab::AmpIteration& now = run.iterations[t];
      const theory::Iterate& then = predicted[t];
      // Not overlaps: Tr S0^2/d itself is 0.05 away from Q0.
      if (t > 0) {
        EXPECT_NEAR(now.squared_error, then.susceptibility, 0.06) << t;
      }
      EXPECT_NEAR(now.susceptibility.symmetric, then.susceptibility, 0.05) << t;
      EXPECT_NEAR(now.susceptibility_hat.symmetric, then.hats.overlap_hat, 0.08 * then.hats.overlap_hat) << t;
    }
  }
}

TEST(BayesMessagePassing, EndsWhereTheTheorySays) {
  // A single instance, some percent above the limit of high dimension.
  for (int tokens : {2, 3}) {
    Problem problem;
    problem.activation = Activation::hardmax;
    problem.tokens = tokens;
    problem.alpha = tokens == 2 ? 0.6 : 0.2;
    problem.dimension = tokens == 2 ? 100 : 70;
    lab::AmpOptions options;
    options.estimator = lab::AmpEstimator::bayes;
    options.max_iterations = 25;
    options.tolerance = 1e-4;
    options.test_samples = 20000;
    const lab::AmpRun run = lab::run_amp(problem, options, 1);
    const theory::BayesSolution predicted =
        theory::solve_bayes(problem, {.qmc = {.log2_points = 12, .scramblings = 4}});
    EXPECT_NEAR(run.squared_error, predicted.squared_error, 0.2 * predicted.squared_error);
    EXPECT_NEAR(run.test_error.value, predicted.test_error.value, 0.15 * predicted.test_error.value);
    EXPECT_GT(run.squared_error, 0.9 * predicted.squared_error);
  }
}

}  // namespace
}  // namespace qklab
