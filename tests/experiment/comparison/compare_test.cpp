#include "qklab/experiment/comparison/compare.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

namespace qklab::experiment {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

lab::TrainedRun measured(double test_error, double overlap) {
  lab::TrainedRun run;
  run.test_error = {test_error, 0.01};
  run.overlap = overlap;
  run.outcome = Outcome::converged;
  return run;
}

Comparison two_runs() {
  Comparison comparison;
  comparison.theory.test_error = {0.10, 0.03};
  comparison.theory.overlap = {1.0, 0.0};
  comparison.runs = {measured(0.20, 1.0), measured(0.28, 1.0)};
  return comparison;
}

TEST(Deviation, IsADifferenceInStandardErrors) {
  EXPECT_DOUBLE_EQ(deviation_in_errors({1.0, 0.3}, {0.0, 0.4}), 2.0);
  EXPECT_DOUBLE_EQ(deviation_in_errors({1.0, 0.5}, {3.0, 0.0}), -4.0);
}

TEST(Deviation, IsUnknownWithoutAnErrorOfTheMeasurement) {
  EXPECT_TRUE(std::isnan(deviation_in_errors({1.0, 0.0}, {0.5, 0.1})));
  EXPECT_TRUE(std::isnan(deviation_in_errors({1.0, nan}, {0.5, 0.1})));
}

TEST(Deviation, TakesMeanAndErrorOverRuns) {
  const std::vector<Deviation> all = deviations(two_runs());
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0].quantity, "test_error");
  EXPECT_DOUBLE_EQ(all[0].trained.value, 0.24);
  EXPECT_DOUBLE_EQ(all[0].trained.se, 0.04);  // sd 0.08/sqrt 2, over sqrt 2
  EXPECT_DOUBLE_EQ(all[0].in_errors, 0.14 / 0.05);
  EXPECT_EQ(all[3].quantity, "overlap");
  EXPECT_TRUE(std::isnan(all[3].in_errors));
}

TEST(Deviation, CountsNoZerosOfADirectStudent) {
  Comparison comparison = two_runs();
  comparison.runs[0].zero_fraction = 0.02;
  comparison.runs[1].zero_fraction = 0.04;
  EXPECT_FALSE(std::isnan(deviations(comparison)[5].in_errors));
  comparison.theory.problem.parametrization = Parametrization::direct;
  EXPECT_TRUE(std::isnan(deviations(comparison)[5].in_errors));
}

TEST(Deviation, ComparesTheAntisymmetricPartOfUntiedStudents) {
  Comparison comparison = two_runs();
  comparison.theory.problem.parametrization = Parametrization::untied;
  comparison.theory.antisymmetric_self_overlap = {0.2, 0.03};
  comparison.runs[0].antisymmetric_self_overlap = 0.26;
  comparison.runs[1].antisymmetric_self_overlap = 0.34;
  const Deviation last = deviations(comparison).back();
  EXPECT_EQ(last.quantity, "antisymmetric_self_overlap");
  EXPECT_DOUBLE_EQ(last.trained.value, 0.30);
  EXPECT_DOUBLE_EQ(last.in_errors, 0.10 / 0.05);
  comparison.theory.problem.tokens = 1;  // whose antisymmetric part depends on the start
  EXPECT_EQ(deviations(comparison).size(), 6u);
}

TEST(Deviation, OfOneRunIsUnknown) {
  Comparison comparison = two_runs();
  comparison.runs.pop_back();
  const Deviation test_error = deviations(comparison).front();
  EXPECT_DOUBLE_EQ(test_error.trained.value, 0.20);
  EXPECT_TRUE(std::isnan(test_error.trained.se));
  EXPECT_TRUE(std::isnan(test_error.in_errors));
}

Plan small_plan() {
  Problem problem;
  problem.dimension = 12;
  problem.lambda = 0.2;
  Plan plan;
  for (double alpha : {0.5, 1.0}) {
    problem.alpha = alpha;
    plan.points.push_back(problem);
  }
  plan.axes = {{"alpha", {0.5, 1.0}}};
  return plan;
}

CompareOptions quick_options() {
  CompareOptions options;
  options.solve.qmc.log2_points = 10;
  options.train.test_samples = 200;
  options.seeds = 2;
  options.first_seed = 7;
  return options;
}

TEST(Compare, HandsOverEachPointWithItsSeeds) {
  const Plan plan = small_plan();
  std::vector<Comparison> points;
  EXPECT_TRUE(compare(plan, quick_options(), [&](const Comparison& point) { points.push_back(point); }));
  ASSERT_EQ(points.size(), 2u);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].theory.problem.alpha, plan.points[i].alpha);
    EXPECT_EQ(points[i].outcome, Outcome::converged);
    ASSERT_EQ(points[i].runs.size(), 2u);
    EXPECT_EQ(points[i].runs[0].seed, 7u);
    EXPECT_EQ(points[i].runs[1].seed, 8u);
  }
}

TEST(Compare, HandsOverWhatWasCompleteWhenStopped) {
  std::atomic<bool> stop{false};
  CompareOptions options = quick_options();
  options.solve.stop = StopToken(stop);
  options.train.stop = StopToken(stop);
  // Three of the four runs are complete: the first point, and one run of the second.
  options.progress = [&](const Progress& progress) { stop = progress.done >= 3; };
  std::vector<Comparison> points;
  EXPECT_FALSE(compare(small_plan(), options, [&](const Comparison& point) { points.push_back(point); }));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].outcome, Outcome::converged);
  EXPECT_EQ(points[1].outcome, Outcome::interrupted);
  EXPECT_EQ(points[1].runs.size(), 1u);
}

TEST(Compare, SolvesTheoryAloneWithoutSeeds) {
  CompareOptions options = quick_options();
  options.seeds = 0;
  std::vector<double> done;
  options.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.stage, "points");
    EXPECT_EQ(progress.total, 2);
    done.push_back(progress.done);
  };
  int points = 0;
  EXPECT_TRUE(compare(small_plan(), options, [&](const Comparison& point) {
    EXPECT_TRUE(point.runs.empty());
    EXPECT_TRUE(std::isnan(deviations(point).front().trained.value));
    ++points;
  }));
  EXPECT_EQ(points, 2);
  EXPECT_EQ(done.back(), 2);
}

TEST(Compare, NamesTheFirstOutcomeThatIsNoAnswer) {
  CompareOptions options = quick_options();
  options.train.max_epochs = 2;
  std::vector<Comparison> points;
  compare(small_plan(), options, [&](const Comparison& point) { points.push_back(point); });
  EXPECT_EQ(points.at(0).outcome, Outcome::iteration_limit);
}

}  // namespace
}  // namespace qklab::experiment
