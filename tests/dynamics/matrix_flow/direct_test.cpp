#include "qklab/dynamics/matrix_flow/direct.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dynamics/models.hpp"
#include "dynamics/random_matrices.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/matrix_flow/matrix_flow.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::make;

const std::vector<double> times{0, 0.05, 0.1, 0.3};

/// Overlaps close at any d: the equations and the flow of the matrices they come from are one.
void expect_as_matrix_flow(const AttentionIndexedModel& model, double weight_decay) {
  const PopulationLoss loss(model, {.log2_points = 10, .scramblings = 2, .seed = 1});
  const int heads = model.heads;
  const std::vector<MatrixXd> given = test::random_matrices(heads + model.teacher_heads, 12, 0.3, 3);
  const std::vector<MatrixXd> teachers(given.begin() + heads, given.end());
  std::vector<StudentWeights> students;
  VectorXd trace(std::ssize(given));
  for (std::size_t k = 0; k < given.size(); ++k) {
    trace[static_cast<int>(k)] = given[k].trace() / 12;
    if (std::ssize(students) < heads) students.push_back({given[k], {}});
  }
  DirectOptions options;
  options.weight_decay = weight_decay;
  MatrixFlowOptions matrix_options;
  matrix_options.parametrization = Parametrization::direct;
  matrix_options.weight_decay = weight_decay;
  matrix_options.tolerance = 1e-7;
  const OrderTrajectory closed = direct_flow(loss, order_parameters(given), trace, times, options);
  const OrderTrajectory flow = matrix_flow(loss, students, teachers, times, matrix_options).trajectory;
  ASSERT_EQ(closed.outcome, Outcome::converged);
  ASSERT_EQ(flow.outcome, Outcome::converged);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const OrderPoint& a = closed.points[i];
    const OrderPoint& b = flow.points[i];
    EXPECT_EQ(a.time, times[i]);
    EXPECT_LT((a.parameters.transposed - b.parameters.transposed).norm(), 1e-5) << times[i];
    EXPECT_LT((a.parameters.product - b.parameters.product).norm(), 1e-5) << times[i];
    EXPECT_LT((a.trace - b.trace).norm(), 1e-5) << times[i];
    EXPECT_NEAR(a.loss.value, b.loss.value, 1e-5) << times[i];
    if (i > 0 && weight_decay == 0) {
      EXPECT_LT(a.loss.value, closed.points[i - 1].loss.value);
    }
  }
}

TEST(DirectFlow, IsTheFlowOfItsMatrices) {
  expect_as_matrix_flow(make(Architecture::softmax, 0.3, true, 3), 0);
  expect_as_matrix_flow(make(Architecture::multi_head, 0.3), 0);
  expect_as_matrix_flow(make(Architecture::two_layer), 0.5);
}

TEST(DirectFlow, LinearErrorDecaysExponentially) {
  const double q0 = 1.5, m = 0.3, q = 0.6;
  for (const double noise : {0.0, 0.2}) {
    DirectOptions options;
    options.step_noise = noise;
    options.symmetrised = true;
    const OrderTrajectory way = direct_flow(PopulationLoss(make(Architecture::denoising)),
                                            symmetric_pair(q0, m, q), VectorXd::Zero(2), times, options);
    for (const OrderPoint& point : way.points) {
      const MatrixXd& o = point.parameters.transposed;
      // H = 4 (S - S0), and k1 = k2 = E (2 (G - G0))^2 = 8 tr (S - S0)^2.
      EXPECT_NEAR(o(0, 1), q0 + (m - q0) * std::exp(-4 * point.time), 1e-6);
      const double error = (q0 - 2 * m + q) * std::exp((-8 + 8 * noise) * point.time);
      EXPECT_NEAR(q0 - 2 * o(0, 1) + o(0, 0), error, 1e-5);
      EXPECT_NEAR(point.loss.value, 2 * error, 2e-5);
    }
  }
}

TEST(DirectFlow, WeightDecayShrinksTheTeacher) {
  DirectOptions options;
  options.weight_decay = 1;
  const OrderTrajectory way = direct_flow(PopulationLoss(make(Architecture::denoising)),
                                          symmetric_pair(1.5, 0, 0.6), VectorXd::Zero(2), {5}, options);
  EXPECT_NEAR(way.points[0].parameters.transposed(0, 1), 0.8 * 1.5, 1e-6);
  EXPECT_NEAR(way.points[0].parameters.transposed(0, 0), 0.64 * 1.5, 1e-6);
}

TEST(DirectFlow, HermiteTwoNeverFindsATeacherItKnowsNothingOf) {
  const PopulationLoss loss(make(Architecture::h2));
  const OrderTrajectory trapped = direct_flow(loss, symmetric_pair(1.5, 0, 0.3), VectorXd::Zero(2), {2});
  EXPECT_NEAR(trapped.points[0].parameters.transposed(0, 1), 0, 1e-12);
  EXPECT_NEAR(trapped.points[0].parameters.transposed(0, 0), 0.5, 1e-6);  // v = v0/3 is the best of them
  // Growth rate of a small overlap at v = v0/3: 8 Q0 - 2 (6 v - 2 v0) = 8 v0.
  const OrderTrajectory escapes =
      direct_flow(loss, symmetric_pair(1.5, 1e-6, 0.5), VectorXd::Zero(2), {0.2, 0.4});
  EXPECT_NEAR(escapes.points[1].parameters.transposed(0, 1) / escapes.points[0].parameters.transposed(0, 1),
              std::exp(0.2 * 8 * 1.5), 1e-3 * std::exp(0.2 * 8 * 1.5));
}

TEST(DirectFlow, SaysWhenItDiverges) {
  DirectOptions options;
  options.step_noise = 5;
  const OrderTrajectory way = direct_flow(PopulationLoss(make(Architecture::h3)), symmetric_pair(1.5, 0, 1),
                                          VectorXd::Zero(2), {0.01, 10}, options);
  EXPECT_FALSE(is_answer(way.outcome));
  EXPECT_LT(way.points.size(), 2u);
}

TEST(DirectFlow, UncentredScoresStayOnTheCriticalManifold) {
  const PopulationLoss loss(make(Architecture::softmax, 0.3, false, 2));
  const std::vector<MatrixXd> given = test::random_matrices(2, 30, 0.8, 3);
  const OrderTrajectory way = direct_flow(loss, order_parameters(given), VectorXd::Zero(2), {0, 0.3, 4});
  ASSERT_EQ(way.outcome, Outcome::converged);
  for (const OrderPoint& point : way.points) {
    EXPECT_NEAR(loss.evaluate(point.parameters).mean[0], 0, 1e-8);
  }
  // mu comes to that of the teacher as S does.
  const auto distance = [](const OrderPoint& point) {
    return std::abs(point.parameters.mean[0] - point.parameters.mean[1]);
  };
  EXPECT_LT(distance(way.points[2]), 0.3 * distance(way.points[1]));
}

TEST(DirectFlow, NamesWhatIsOutsideItsDomain) {
  const PopulationLoss loss(make(Architecture::denoising));
  const OrderParameters start = symmetric_pair(1, 0, 1);
  EXPECT_THROW(direct_flow(loss, start, VectorXd::Zero(1), times), InvalidParameter);
  EXPECT_THROW(direct_flow(loss, start, VectorXd::Zero(2), {1, 0.5}), InvalidParameter);
  DirectOptions options;
  options.weight_decay = -1;
  EXPECT_THROW(direct_flow(loss, start, VectorXd::Zero(2), times, options), InvalidParameter);
}

TEST(PairTrajectory, PicksOneStudentAndOneTeacher) {
  const OrderTrajectory way = direct_flow(PopulationLoss(make(Architecture::denoising)),
                                          symmetric_pair(1.5, 0.3, 0.6), VectorXd::Zero(2), times);
  const Trajectory pair = pair_trajectory(way, 1, 0, 0);
  ASSERT_EQ(pair.points.size(), times.size());
  EXPECT_NEAR(pair.points[0].alignment.value, 0.3 / std::sqrt(1.5 * 0.6), 1e-12);
  EXPECT_THROW(pair_trajectory(way, 1, 0, 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
