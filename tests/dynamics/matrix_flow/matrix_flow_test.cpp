#include "qklab/dynamics/matrix_flow/matrix_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/models.hpp"
#include "dynamics/random_matrices.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/slow_fast/critical_mean.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::make;

MatrixFlowOptions options_of(Parametrization parametrization) {
  MatrixFlowOptions options;
  options.parametrization = parametrization;
  return options;
}

/// Diagonal, without trace, Q0 = 1.
MatrixXd balanced_teacher(int dimension) {
  VectorXd values = VectorXd::LinSpaced(dimension, -1, 1);
  values *= std::sqrt(dimension) / values.norm();
  return values.asDiagonal();
}

TEST(MatrixFlow, DenoisingByTiedWeightsIsLogistic) {
  const int d = 20;
  const VectorXd values = VectorXd::LinSpaced(d, 0.2, 2);
  const double s = 0.1;
  const std::vector<double> times{0, 0.05, 0.2, 0.5};
  std::size_t seen = 0;
  MatrixFlowOptions options = options_of(Parametrization::tied);
  options.tolerance = 1e-8;
  options.observe = [&](double tau, std::span<const MatrixXd> students) {
    EXPECT_EQ(tau, times[seen++]);
    for (int i = 0; i < d; ++i) {
      // ds/dtau = -16 s^2 + 16 lambda s
      const double want = values[i] / (1 + (values[i] / s - 1) * std::exp(-16 * values[i] * tau));
      EXPECT_NEAR(students[0](i, i), want, 1e-6);
    }
  };
  const MatrixFlow flow =
      matrix_flow(PopulationLoss(make(Architecture::denoising)),
                  {{std::sqrt(s) * MatrixXd::Identity(d, d), {}}}, {values.asDiagonal()}, times, options);
  EXPECT_EQ(flow.trajectory.outcome, Outcome::converged);
  EXPECT_EQ(seen, times.size());
}

class EveryParametrization : public ::testing::TestWithParam<Parametrization> {};

TEST_P(EveryParametrization, LossFallsForSeveralHeads) {
  const PopulationLoss loss(make(Architecture::multi_head, 0.2),
                            {.log2_points = 10, .scramblings = 2, .seed = 1});
  const std::vector<MatrixXd> given = test::random_matrices(2, 16, 0, 1);
  std::vector<StudentWeights> start;
  for (int k = 0; k < 2; ++k) start.push_back(gaussian_weights(GetParam(), 16, 10, 0.5, 4, k));
  const MatrixFlow flow = matrix_flow(loss, start, given, {0, 0.1, 0.2, 0.5, 1, 2}, options_of(GetParam()));
  ASSERT_EQ(flow.trajectory.outcome, Outcome::converged);
  for (std::size_t i = 1; i < flow.trajectory.points.size(); ++i) {
    EXPECT_LT(flow.trajectory.points[i].loss.value, flow.trajectory.points[i - 1].loss.value);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryParametrization,
                         ::testing::Values(Parametrization::direct, Parametrization::tied,
                                           Parametrization::untied));

/// The slope of the loss along the flow is minus the square of the velocity: velocities are the gradient.
TEST(MatrixFlow, VelocityIsTheGradient) {
  const PopulationLoss loss(make(Architecture::softmax, 0.3, false, 2),
                            {.log2_points = 13, .scramblings = 8, .seed = 1});
  const std::vector<MatrixXd> teachers = test::random_matrices(1, 12, 0.5, 1);
  MatrixFlowOptions options = options_of(Parametrization::untied);
  options.trace_scale = TraceScale::explicit_term;
  const StudentWeights start = gaussian_weights(Parametrization::untied, 12, 12, 0.8, 2);
  const double h = 1e-4;
  const MatrixFlow flow = matrix_flow(loss, {start}, teachers, {0, h}, options);
  const auto& points = flow.trajectory.points;
  const double square = (flow.weights[0].first - start.first).squaredNorm() +
                        (flow.weights[0].second - start.second).squaredNorm();
  const double slope = (points[1].loss.value - points[0].loss.value) / h;
  EXPECT_NEAR(slope, -square / (h * h) / 12, 5e-3 * std::abs(slope));
}

TEST(MatrixFlow, UntiedFlowConservesTheImbalance) {
  const PopulationLoss loss(make(Architecture::softmax, 0.3, false));
  const StudentWeights start = gaussian_weights(Parametrization::untied, 24, 12, 0.8, 2);
  const MatrixFlow flow =
      matrix_flow(loss, {start}, {balanced_teacher(24)}, {0.5}, options_of(Parametrization::untied));
  const auto imbalance = [](const StudentWeights& w) {
    return MatrixXd(w.first.transpose() * w.first - w.second.transpose() * w.second);
  };
  EXPECT_LT((imbalance(flow.weights[0]) - imbalance(start)).norm(), 1e-5);
  EXPECT_GT((flow.weights[0].first - start.first).norm(), 0.1);
  const double trace = student_matrix(Parametrization::untied, start).trace();
  EXPECT_NEAR(student_matrix(Parametrization::untied, flow.weights[0]).trace(), trace, 1e-5);
}

/// Largest difference of m between the flow at d with its sqrt(d) term and the flow on the manifold.
double distance_from_limit(int d) {
  AttentionIndexedModel model = make(Architecture::h2, 0, false, 1);
  model.series = {0, 1 / std::sqrt(2.0), 0};
  model.teacher_series = {1, 1 / std::sqrt(2.0), 0};
  const PopulationLoss loss(model);
  StudentWeights start = gaussian_weights(Parametrization::untied, d, d, 0.4, 5);
  MatrixXd teacher = balanced_teacher(d);
  // The same mu at the start for every d, and on one side.
  const double trace = student_matrix(Parametrization::untied, start).trace();
  start.first += (0.3 * std::sqrt(d) - trace) / start.second.squaredNorm() * start.second;
  MatrixFlowOptions options = options_of(Parametrization::untied);
  const std::vector<double> times{0.1, 0.2, 0.4, 0.8};
  const OrderTrajectory limit = matrix_flow(loss, {start}, {teacher}, times, options).trajectory;
  options.trace_scale = TraceScale::explicit_term;
  const OrderTrajectory finite = matrix_flow(loss, {start}, {teacher}, times, options).trajectory;
  double largest = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    largest = std::max(largest, std::abs(limit.points[i].parameters.transposed(0, 1) -
                                         finite.points[i].parameters.transposed(0, 1)));
  }
  return largest;
}

TEST(MatrixFlow, TheManifoldIsTheLimitOfLargeDimension) {
  const double small = distance_from_limit(20);
  const double large = distance_from_limit(80);
  EXPECT_LT(large, 0.7 * small);  // 1/sqrt(d): the trace that the manifold leaves out
  EXPECT_LT(large, 0.05);
}

TEST(CriticalMean, OfHermiteTwoHasAClosedForm) {
  AttentionIndexedModel model = make(Architecture::h2, 0, false, 1);
  model.series = {0, 1 / std::sqrt(2.0), 0};
  model.teacher_series = {1, 1 / std::sqrt(2.0), 0};
  const PopulationLoss loss(model);
  OrderParameters start = symmetric_pair(1, 0, 0.1);  // v0 = 2, v = 0.2
  start.mean[0] = -0.3;
  const CriticalMean critical = critical_mean(loss, start);
  EXPECT_EQ(critical.outcome, Outcome::converged);
  EXPECT_NEAR(critical.parameters.mean[0], -std::sqrt(2 - 3 * 0.2), 1e-9);
  start = symmetric_pair(1, 0, 0.5);  // v > v0/3: no mean
  start.mean[0] = 0.4;
  EXPECT_NEAR(critical_mean(loss, start).parameters.mean[0], 0, 1e-8);
}

TEST(FastPhase, OfHermiteTwoHasAClosedForm) {
  AttentionIndexedModel model = make(Architecture::h2, 0, false, 1);
  model.series = {0, 1 / std::sqrt(2.0), 0};
  model.teacher_series = {1, 1 / std::sqrt(2.0), 0};
  OrderParameters start = symmetric_pair(1, 0, 1.0 / 3);  // v = v0/3: Phi_mu = 2 mu^3
  start.mean[0] = 0.8;
  const MeanTrajectory way =
      fast_phase(PopulationLoss(model), start, VectorXd::Constant(1, 1.5), {0, 0.5, 2});
  ASSERT_EQ(way.outcome, Outcome::converged);
  for (const MeanPoint& point : way.points) {
    EXPECT_NEAR(point.mean[0], 0.8 / std::sqrt(1 + 4 * 1.5 * 0.64 * point.time), 1e-6);
  }
  EXPECT_THROW(fast_phase(PopulationLoss(make(Architecture::h2)), start, VectorXd::Ones(1), {1}),
               InvalidParameter);
}

TEST(MatrixFlow, NamesWhatDoesNotFit) {
  const PopulationLoss loss(make(Architecture::denoising));
  const MatrixXd teacher = balanced_teacher(6);
  const StudentWeights tied = gaussian_weights(Parametrization::tied, 6, 3, 1, 1);
  EXPECT_THROW(matrix_flow(loss, {tied}, {teacher}, {1}, options_of(Parametrization::untied)),
               InvalidParameter);
  EXPECT_THROW(matrix_flow(loss, {tied}, {teacher}, {1}, options_of(Parametrization::direct)),
               InvalidParameter);
  EXPECT_THROW(matrix_flow(loss, {tied, tied}, {teacher}, {1}, options_of(Parametrization::tied)),
               InvalidParameter);
  EXPECT_THROW(matrix_flow(PopulationLoss(make(Architecture::softmax, 0.3, false)), {tied}, {teacher}, {1},
                           options_of(Parametrization::tied)),
               InvalidParameter);
  EXPECT_THROW(gaussian_weights(Parametrization::tied, 6, 0, 1, 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
