#include "qklab/dynamics/slow_fast/weak_recovery.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "dynamics/models.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/matrix_flow/matrix_flow.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::make;

bool recovers(const AttentionIndexedModel& model, Parametrization parametrization,
              const OrderParameters& start) {
  return weak_recovery(PopulationLoss(model), start, parametrization, VectorXd::Constant(1, 0.3)).recovers;
}

TEST(WeakRecovery, NeedsACrossGradient) {
  const OrderParameters start = symmetric_pair(1, 0, 0.1);
  for (const Parametrization p : {Parametrization::direct, Parametrization::tied}) {
    EXPECT_TRUE(recovers(make(Architecture::softmax), p, start));
    EXPECT_TRUE(recovers(make(Architecture::h1), p, start));
    EXPECT_FALSE(recovers(make(Architecture::h2), p, start));
    EXPECT_FALSE(recovers(make(Architecture::h3), p, start));
  }
}

/// h2 student, label z + h2(z): whether mu* = 0 decides (10.72).
TEST(WeakRecovery, OfUntiedWeightsIsDecidedOnTheCriticalManifold) {
  for (const int tokens : {1, 2}) {
    AttentionIndexedModel model = make(Architecture::h2, 0, false, tokens);
    model.teacher_series = {1, 1, 0};
    OrderParameters small = symmetric_pair(1, 0, 0.1);
    OrderParameters large = symmetric_pair(1, 0, 0.6);
    small.mean[0] = large.mean[0] = 0.2;
    const bool sees_mean = tokens == 1;  // G_12 of independent tokens has mean zero whatever Tr S
    EXPECT_EQ(recovers(model, Parametrization::untied, small), sees_mean);
    EXPECT_FALSE(recovers(model, Parametrization::untied, large));
  }
}

/// The speed is that of the flow of one large draw.
TEST(WeakRecovery, SpeedIsThatOfTheFlow) {
  const int d = 160;
  VectorXd values = VectorXd::LinSpaced(d, -1, 1);
  values *= std::sqrt(d) / values.norm();
  const PopulationLoss loss(make(Architecture::softmax));
  for (const Parametrization p : {Parametrization::direct, Parametrization::tied, Parametrization::untied}) {
    MatrixFlowOptions options;
    options.parametrization = p;
    const double h = 1e-3;
    const StudentWeights start = gaussian_weights(p, d, d, 0.5, 1);
    const MatrixFlow flow = matrix_flow(loss, {start}, {values.asDiagonal()}, {0, h}, options);
    const auto& points = flow.trajectory.points;
    OrderParameters knows_nothing = points[0].parameters;
    for (MatrixXd* overlaps : {&knows_nothing.transposed, &knows_nothing.product}) {
      (*overlaps)(0, 1) = (*overlaps)(1, 0) = 0;
    }
    const double trace = start.first.squaredNorm() / d + start.second.squaredNorm() / d;
    const WeakRecovery verdict = weak_recovery(loss, knows_nothing, p, VectorXd::Constant(1, trace));
    EXPECT_TRUE(verdict.recovers);
    const double speed = (points[1].parameters.transposed(0, 1) - points[0].parameters.transposed(0, 1)) / h;
    EXPECT_NEAR(speed, verdict.speed(0, 0), 0.08 * verdict.speed(0, 0)) << to_string(p);
    EXPECT_GT(speed, 0);
  }
}

TEST(WeakRecovery, NamesWhatDoesNotFit) {
  EXPECT_THROW(weak_recovery(PopulationLoss(make(Architecture::h1)), symmetric_pair(1, 0, 1),
                             Parametrization::direct, VectorXd::Ones(2)),
               InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
