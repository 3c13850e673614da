#include "qklab/theory/fixed_point/fixed_point.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <atomic>
#include <cmath>

namespace qklab::theory {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;

VectorXd constant(Eigen::Index size, double value) {
  return VectorXd::Constant(size, value);
}

TEST(FixedPoint, ContractionReachesItsKnownPoint) {
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> { return VectorXd(x.array().cos()); };
  const FixedPoint solution = solve_fixed_point(map, constant(3, 0.2), {.tolerance = 1e-14});
  EXPECT_EQ(solution.outcome, Outcome::converged);
  EXPECT_NEAR(solution.x[1], 0.7390851332151607, 1e-13);
}

TEST(FixedPoint, ExpandingMapWherePlainIterationDiverges) {
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> {
    return VectorXd(4.0 - 3.0 * x.array());
  };
  const FixedPoint solution = solve_fixed_point(map, constant(2, 0.0), {.tolerance = 1e-13});
  EXPECT_EQ(solution.outcome, Outcome::converged);
  EXPECT_NEAR(solution.x[0], 1, 1e-12);
}

TEST(FixedPoint, SlowLinearMapWithEigenvaluesNearOne) {
  Eigen::MatrixXd a(3, 3);
  a << 0.999, 0.1, 0, 0, 0.95, -0.2, 0, 0, -0.9;
  const VectorXd shift = constant(3, 0.1);
  const VectorXd truth = (Eigen::MatrixXd::Identity(3, 3) - a).inverse() * shift;
  const auto map = [&](const VectorXd& x) -> std::optional<VectorXd> { return VectorXd(a * x + shift); };
  const FixedPoint solution = solve_fixed_point(map, constant(3, 0.0), {.tolerance = 1e-11, .max_step = 1e4});
  EXPECT_EQ(solution.outcome, Outcome::converged);
  EXPECT_LT((solution.x - truth).norm() / truth.norm(), 1e-8);
  EXPECT_LT(solution.evaluations, 60);
}

// Eight-dimensional logit map: Anderson acceleration without a residual guard freezes on it at a
// non-solution.
TEST(FixedPoint, LogitMapConvergesAndIsJudgedByItsResidual) {
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> {
    VectorXd image(8);
    for (int i = 0; i < 8; ++i) image[i] = 3 / (1 + std::exp(-x[(i + 1) % 8] + 0.3 * i)) - 1;
    return image;
  };
  const FixedPoint solution = solve_fixed_point(map, constant(8, 0.0), {.tolerance = 1e-12});
  ASSERT_EQ(solution.outcome, Outcome::converged);
  EXPECT_LT((*map(solution.x) - solution.x).lpNorm<Eigen::Infinity>(), 1e-12);
}

TEST(FixedPoint, UndefinedRegionIsAvoided) {
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> {
    if (x[0] <= 0) return std::nullopt;
    return VectorXd(constant(1, x[0] - 2 * std::log(x[0] / 0.05)));
  };
  const FixedPoint solution = solve_fixed_point(map, constant(1, 1.0), {.tolerance = 1e-12});
  EXPECT_EQ(solution.outcome, Outcome::converged);
  EXPECT_NEAR(solution.x[0], 0.05, 1e-12);
}

TEST(FixedPoint, NoFixedPointIsNeverCalledConverged) {
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> {
    return VectorXd(x.array() + 0.1 + x.array().square());
  };
  const FixedPoint solution = solve_fixed_point(map, constant(1, 0.3), {.max_evaluations = 300});
  EXPECT_FALSE(is_answer(solution.outcome));
  EXPECT_NEAR(solution.residual, 0.1, 1e-6);
}

TEST(FixedPoint, UndefinedStartIsDiverged) {
  const auto map = [](const VectorXd&) -> std::optional<VectorXd> { return std::nullopt; };
  EXPECT_EQ(solve_fixed_point(map, constant(1, 1.0)).outcome, Outcome::diverged);
}

TEST(FixedPoint, StopRequestIsHonoured) {
  const std::atomic<bool> stop = true;
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> { return VectorXd(x.array() + 1); };
  EXPECT_EQ(solve_fixed_point(map, constant(1, 0.0), {.stop = StopToken(stop)}).outcome,
            Outcome::interrupted);
}

TEST(FixedPoint, RefinementNeedsFewEvaluationsNearTheSolution) {
  const auto map = [](const VectorXd& x) -> std::optional<VectorXd> {
    return VectorXd(Vector2d(std::cos(x[1]), 0.5 * std::sin(x[0]) + 2 * x[1] - 0.3));
  };
  const FixedPoint rough = solve_fixed_point(map, Vector2d(0.5, 0.1), {.tolerance = 1e-4});
  ASSERT_EQ(rough.outcome, Outcome::converged);
  const auto slope = jacobian(map, rough.x, *map(rough.x), 1e-3);
  ASSERT_TRUE(slope);
  const FixedPoint fine = refine_fixed_point(map, rough.x, *slope, {.tolerance = 1e-13});
  EXPECT_EQ(fine.outcome, Outcome::converged);
  EXPECT_LE(fine.evaluations, 6);
}

}  // namespace
}  // namespace qklab::theory
