// Both phases of untied weights under uncentred scores (docs/theory section 10.6): the mean relaxes, then the
// weights move along its critical manifold.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qklab/core/error.hpp"
#include "qklab/dynamics/matrix_flow/matrix_flow.hpp"
#include "qklab/dynamics/slow_fast/critical_mean.hpp"
#include "qklab/dynamics/slow_fast/weak_recovery.hpp"

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

/// A student before it moves.
struct Start {
  OrderParameters at;
  VectorXd rate;  ///< (Tr U U^T + Tr V V^T)/d
};

Start start_of(const StudentWeights& student, const MatrixXd& teacher) {
  const auto d = static_cast<double>(teacher.rows());
  const double rate = (student.first.squaredNorm() + student.second.squaredNorm()) / d;
  const std::vector<MatrixXd> matrices{student_matrix(Parametrization::untied, student), teacher};
  return {order_parameters(matrices), VectorXd::Constant(1, rate)};
}

MatrixFlow slow_phase(const PopulationLoss& loss, const StudentWeights& student, const MatrixXd& teacher,
                      const std::vector<double>& times) {
  MatrixFlowOptions options;
  options.parametrization = Parametrization::untied;
  options.trace_scale = TraceScale::critical_manifold;
  return matrix_flow(loss, {student}, {teacher}, times, options);
}

TEST(BothPhases, TheFastOneEndsWhereTheSlowOneBegins) {
  const PopulationLoss loss(worked_case());
  const StudentWeights student = tilted(40, 0.4, 0.2, 1);
  const MatrixXd teacher = balanced_teacher(40);
  const Start start = start_of(student, teacher);
  const MeanTrajectory fast = fast_phase(loss, start.at, start.rate, {0, 1, 40});
  const OrderParameters critical = critical_mean(loss, start.at).parameters;
  ASSERT_EQ(fast.outcome, Outcome::converged);
  EXPECT_NEAR(fast.points.back().mean[0], critical.mean[0], 1e-5);
  EXPECT_LT(fast.points[1].loss.value, fast.points[0].loss.value);
  EXPECT_TRUE(weak_recovery(loss, critical, Parametrization::untied, start.rate).recovers);

  const auto points = slow_phase(loss, student, teacher, {0, 0.2, 1}).trajectory.points;
  EXPECT_NEAR(points[0].parameters.mean[0], critical.mean[0], 1e-8);
  EXPECT_LT(points[2].loss.value, points[1].loss.value);
}

/// The sign of the mean at the start is that of the teacher found.
TEST(BothPhases, OverlapTakesTheSignOfTheMean) {
  const PopulationLoss loss(worked_case());
  const MatrixXd teacher = balanced_teacher(40);
  for (const double mean : {0.3, -0.3}) {
    const StudentWeights student = tilted(40, 0.4, mean, 1);
    const Start start = start_of(student, teacher);
    const OrderParameters critical = critical_mean(loss, start.at).parameters;
    const auto points = slow_phase(loss, student, teacher, {0, 0.5}).trajectory.points;
    const double gained = points[1].parameters.transposed(0, 1) - points[0].parameters.transposed(0, 1);
    EXPECT_GT(gained * mean, 0.03);
    EXPECT_GT(weak_recovery(loss, critical, Parametrization::untied, start.rate).speed(0, 0) * mean, 0);
    EXPECT_GT(points[1].parameters.mean[0] * mean, 0);
  }
}

/// v > v0/3: mu* is a trace of the overlap that the draw happens to have.
TEST(BothPhases, ALargeStartHasNoMeanOfItsOwn) {
  const PopulationLoss loss(worked_case());
  const Start start = start_of(tilted(60, 1.2, 0.2, 1), balanced_teacher(60));
  const OrderParameters at = critical_mean(loss, start.at).parameters;
  const MatrixXd variances = at.transposed + at.product;
  const double mean = std::sqrt(2.0) * variances(0, 1) / (3 * variances(0, 0) - variances(1, 1));
  EXPECT_NEAR(at.mean[0], mean, 0.1 * std::abs(mean));
  EXPECT_LT(std::abs(at.mean[0]), 0.2);
}

TEST(BothPhases, NeedUncentredScores) {
  const PopulationLoss loss(attention_indexed_model(Architecture::denoising));
  const Start start = start_of(tilted(6, 1, 0, 1), balanced_teacher(6));
  EXPECT_THROW(fast_phase(loss, start.at, start.rate, {1}), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
