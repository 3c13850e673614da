#include "qklab/dynamics/untied.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// h2 student of z + h2(z), one token, uncentred scores (docs/theory section 10.6).
AttentionIndexedModel worked_case() {
  AttentionIndexedOptions options;
  options.tokens = 1;
  options.centred = false;
  AttentionIndexedModel model = attention_indexed_model(Architecture::h2, options);
  model.series = {0, 1 / std::sqrt(2.0), 0};
  model.teacher_series = {1, 1 / std::sqrt(2.0), 0};
  return model;
}

/// Diagonal, without trace, Q0 = 1.
MatrixXd balanced_teacher(int dimension) {
  VectorXd values = VectorXd::LinSpaced(dimension, -1, 1);
  values *= std::sqrt(dimension) / values.norm();
  return values.asDiagonal();
}

/// Weights of Tr S = mean sqrt(d).
StudentWeights tilted(int dimension, double start, double mean, std::uint64_t seed) {
  StudentWeights w = gaussian_weights(Parametrization::untied, dimension, dimension, start, seed);
  const double trace = student_matrix(Parametrization::untied, w).trace();
  w.first += (mean * std::sqrt(dimension) - trace) / w.second.squaredNorm() * w.second;
  return w;
}

TEST(UntiedFlow, FastPhaseEndsWhereTheSlowOneBegins) {
  const PopulationLoss loss(worked_case());
  const UntiedFlow flow =
      untied_flow(loss, {tilted(40, 0.4, 0.2, 1)}, {balanced_teacher(40)}, {0, 1, 40}, {0, 0.2, 1});
  ASSERT_EQ(flow.fast.outcome, Outcome::converged);
  EXPECT_NEAR(flow.fast.points.back().mean[0], flow.critical.parameters.mean[0], 1e-5);
  EXPECT_NEAR(flow.slow.trajectory.points[0].parameters.mean[0], flow.critical.parameters.mean[0], 1e-8);
  EXPECT_LT(flow.fast.points[1].loss.value, flow.fast.points[0].loss.value);
  const auto& points = flow.slow.trajectory.points;
  EXPECT_LT(points[2].loss.value, points[1].loss.value);
  EXPECT_TRUE(flow.recovery.recovers);
}

/// The sign of the mean at the start is that of the teacher found.
TEST(UntiedFlow, OverlapTakesTheSignOfTheMean) {
  const PopulationLoss loss(worked_case());
  for (const double mean : {0.3, -0.3}) {
    const UntiedFlow flow =
        untied_flow(loss, {tilted(40, 0.4, mean, 1)}, {balanced_teacher(40)}, {}, {0, 0.5});
    const auto& points = flow.slow.trajectory.points;
    const double gained = points[1].parameters.transposed(0, 1) - points[0].parameters.transposed(0, 1);
    EXPECT_GT(gained * mean, 0.03);
    EXPECT_GT(flow.recovery.speed(0, 0) * mean, 0);
    EXPECT_GT(points[1].parameters.mean[0] * mean, 0);
  }
}

/// v > v0/3: mu* is a trace of the overlap that the draw happens to have.
TEST(UntiedFlow, ALargeStartHasNoMeanOfItsOwn) {
  const PopulationLoss loss(worked_case());
  const UntiedFlow flow = untied_flow(loss, {tilted(60, 1.2, 0.2, 1)}, {balanced_teacher(60)}, {}, {0});
  const OrderParameters& at = flow.critical.parameters;
  const MatrixXd variances = at.transposed + at.product;
  const double mean = std::sqrt(2.0) * variances(0, 1) / (3 * variances(0, 0) - variances(1, 1));
  EXPECT_NEAR(at.mean[0], mean, 0.1 * std::abs(mean));
  EXPECT_LT(std::abs(at.mean[0]), 0.2);
}

TEST(UntiedFlow, NeedsUncentredScores) {
  const PopulationLoss loss(attention_indexed_model(Architecture::denoising));
  EXPECT_THROW(untied_flow(loss, {tilted(6, 1, 0, 1)}, {balanced_teacher(6)}, {}, {1}), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
