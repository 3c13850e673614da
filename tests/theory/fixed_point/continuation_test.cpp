#include "qklab/theory/fixed_point/continuation.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

namespace qklab::theory {
namespace {

using Eigen::VectorXd;

/// Fixed point x = 1/lambda of F(x) = (x + 1/lambda)/2, and of a map that is defined near it alone: within a
/// factor of 2.5, which no start far away is.
class Narrow {
 public:
  double lambda = 0;
  std::vector<double> visited;

  WeightDecayFamily family(double wanted, double start) {
    return {.lambda = wanted,
            .start = VectorXd::Constant(1, start),
            .turn_to =
                [this](double value) {
                  lambda = value;
                  visited.push_back(value);
                },
            .find = [this](const VectorXd& from) { return find(from); }};
  }
  FixedPoint find(const VectorXd& from) const {
    const auto map = [this](const VectorXd& x) -> std::optional<VectorXd> {
      if (!(std::abs(std::log(x[0] * lambda)) < std::log(2.5))) return std::nullopt;
      return VectorXd::Constant(1, 0.5 * (x[0] + 1 / lambda));
    };
    return solve_fixed_point(map, from, {.tolerance = 1e-10, .max_step = 1e9});
  }
};

FixedPoint failure() {
  return {VectorXd::Constant(1, 7.0), 0.5, 0, Outcome::stagnated};
}

TEST(Continuation, FollowsTheSolutionDownFromStrongWeightDecay) {
  Narrow problem;
  const double wanted = 3e-4;
  problem.lambda = wanted;
  ASSERT_FALSE(is_answer(problem.find(VectorXd::Constant(1, 60.0)).outcome));
  const FixedPoint found = find_by_continuation(problem.family(wanted, 60.0), failure());
  EXPECT_EQ(found.outcome, Outcome::converged);
  EXPECT_NEAR(found.x[0], 1 / wanted, 1e-8 / wanted);
  EXPECT_EQ(problem.lambda, wanted);
  EXPECT_GE(problem.visited[0], wanted);
}

TEST(Continuation, KeepsTheFailureWhereNoWeightDecayIsStrongEnough) {
  Narrow problem;
  const FixedPoint found = find_by_continuation(problem.family(1e-3, 1e-6), failure());
  EXPECT_EQ(found.outcome, Outcome::stagnated);
  EXPECT_EQ(found.x[0], 7.0);
  EXPECT_EQ(problem.lambda, 1e-3) << "the family is left at the wanted weight decay";
}

TEST(Continuation, ReachesNoWeightDecayAtAll) {
  std::vector<double> visited;
  const FixedPoint found = find_by_continuation({.lambda = 0,
                                                 .start = VectorXd::Constant(1, 0.0),
                                                 .turn_to = [&](double lambda) { visited.push_back(lambda); },
                                                 .find =
                                                     [](const VectorXd& from) {
                                                       return FixedPoint{from, 0, 1, Outcome::converged};
                                                     }},
                                                failure());
  EXPECT_EQ(found.outcome, Outcome::converged);
  EXPECT_EQ(visited.back(), 0);
  EXPECT_LT(visited.size(), 50U);
}

TEST(Continuation, StopRequestEndsIt) {
  const std::atomic<bool> stop = true;
  Narrow problem;
  WeightDecayFamily family = problem.family(3e-4, 60.0);
  family.stop = StopToken(stop);
  EXPECT_EQ(find_by_continuation(family, failure()).outcome, Outcome::stagnated);
}

}  // namespace
}  // namespace qklab::theory
