#include "qklab/experiment/comparison/theory_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace qklab::experiment {
namespace {

/// Solved points of the quadratic network along alpha, two weight decays, without runs.
Plan quadratic_network() {
  Plan plan;
  plan.axes = {{"alpha", {0.5, 1.0, 4.0}}, {"lambda", {0.1, 0.2}}};
  for (double lambda : {0.1, 0.2}) {
    for (double alpha : {0.5, 1.0, 4.0}) {
      Problem problem;
      problem.tokens = 1;
      problem.activation = Activation::identity;
      problem.noise_out = 0.5;
      problem.alpha = alpha;
      problem.lambda = lambda;
      plan.points.push_back(problem);
    }
  }
  return plan;
}

std::vector<Comparison> solved(const Plan& plan) {
  std::vector<Comparison> points;
  for (const Problem& problem : plan.points)
    points.push_back({theory::solve(problem), {}, Outcome::converged});
  return points;
}

TEST(TheoryLine, PutsSolvedPointsBetweenThoseOfEverySeries) {
  const Plan plan = quadratic_network();
  const Curve curve = with_theory_between(plan, solved(plan), 9, {});
  const std::vector<double>& values = curve.plan.axes.front().values;
  ASSERT_EQ(values.size(), 9U);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  ASSERT_EQ(curve.points.size(), 18U);
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    EXPECT_DOUBLE_EQ(curve.points[i].theory.problem.alpha, values[i % 9]);
    EXPECT_EQ(curve.points[i].theory.problem.lambda, i < 9 ? 0.1 : 0.2);
    EXPECT_EQ(curve.points[i].theory.outcome, Outcome::converged);
    EXPECT_EQ(curve.plan.starts_a_series(i), i % 9 == 0);
  }
  EXPECT_DOUBLE_EQ(values[2], std::sqrt(0.5));
}

TEST(TheoryLine, ValuesAreTheSameWithoutSolving) {
  const Plan plan = quadratic_network();
  const Plan finer = with_values_between(plan, 9);
  const Curve curve = with_theory_between(plan, solved(plan), 9, {});
  EXPECT_EQ(finer.axes.front().values, curve.plan.axes.front().values);
  ASSERT_EQ(finer.points.size(), curve.plan.points.size());
  for (std::size_t i = 0; i < finer.points.size(); ++i) {
    EXPECT_DOUBLE_EQ(finer.points[i].alpha, curve.plan.points[i].alpha);
    EXPECT_EQ(finer.points[i].lambda, curve.plan.points[i].lambda);
  }
}

TEST(TheoryLine, UnfinishedPlansKeepTheirFinishedPart) {
  const Plan plan = quadratic_network();
  std::vector<Comparison> points = solved(plan);
  points.resize(4);
  EXPECT_EQ(with_theory_between(plan, points, 9, {}).points.size(), 10U);
}

TEST(TheoryLine, WholeNumbersHaveNothingInBetween) {
  Plan plan = quadratic_network();
  plan.axes.front().option = "dimension";
  EXPECT_EQ(with_theory_between(plan, solved(plan), 9, {}).points.size(), 6U);
}

}  // namespace
}  // namespace qklab::experiment
