#include "qklab/dynamics/hierarchy/fock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/matrix_truth.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

const SampleLoss softmax{Activation::softmax, 2, 1.0, SampleLoss::Entries::all};
const SampleLoss hermite2{Activation::hermite2, 2, 1.0, SampleLoss::Entries::one_pair};

double largest_error(const Trajectory& found, const Trajectory& exact) {
  double worst = found.points.size() == exact.points.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < found.points.size(); ++k) {
    worst = std::max({worst, std::abs(found.points[k].overlap.value - exact.points[k].overlap.value),
                      std::abs(found.points[k].self_overlap.value - exact.points[k].self_overlap.value)});
  }
  return worst;
}

TEST(Fock, ConvergesToTheExactFlowAtEveryTime) {
  for (const auto& [sample, end] : {std::pair{softmax, 6.0}, std::pair{hermite2, 0.35}}) {
    const SymmetricLoss loss(sample, 1.5);
    const std::vector<double> times = times_to(end, 24);
    const Trajectory exact = tied_flow(loss, flow_law(WishartLaw{0.5}), {0.3, 1}, times);
    double before = 0;
    for (const int order : {1, 3, 5}) {
      const Trajectory flow = fock_flow(loss, WishartLaw{0.5}, {0.3, 1}, times,
                                        {.order = order, .tolerance = 1e-7, .max_steps = 10000, .stop = {}});
      ASSERT_EQ(flow.outcome, Outcome::converged);
      const double error = largest_error(flow, exact);
      RecordProperty(to_string(sample.activation) + std::to_string(order), std::to_string(1e6 * error));
      if (order > 1) {
        EXPECT_LT(error, before / 2) << order;
      }
      before = error;
    }
    EXPECT_LT(before, 3e-3);
  }
}

// One order decides few words only: the moments at the start, and the first slopes, are exact.
TEST(Fock, StartsExactly) {
  const SymmetricLoss loss(softmax, 1.5);
  const Trajectory flow = fock_flow(loss, WishartLaw{0.5}, {0.4, 0.5}, {0},
                                    {.order = 1, .tolerance = 1e-7, .max_steps = 10, .stop = {}});
  const double c = 0.8;
  EXPECT_NEAR(flow.points[0].trace.value, 0.4, 1e-14);
  EXPECT_NEAR(flow.points[0].self_overlap.value, c * c * (0.5 + 0.25), 1e-14);
  EXPECT_NEAR(flow.points[0].overlap.value, 0.4 * std::sqrt(0.5), 1e-14);
}

// Two heads of linear scores that add up: dW_k = -4 c_k (sum_l c_l S_l - S0) W_k, against matrices.
TEST(Fock, TwoHeadsAreTheFlowOfLargeMatrices) {
  constexpr int d = 100;
  constexpr int steps = 40;
  constexpr double end = 0.25;
  const std::vector<double> weight = {1.0, 0.6};
  const std::vector<double> kappa = {1.0, 1.5};
  const std::vector<double> eigenvalues = wishart_eigenvalues(d, d / 2, 8);
  const Eigen::VectorXd teacher = Eigen::Map<const Eigen::VectorXd>(eigenvalues.data(), d);

  const auto drift = [&](const HeadOverlaps&) {
    HeadDrift of{Eigen::MatrixXd(2, 3), Eigen::VectorXd::Zero(2)};
    for (int k = 0; k < 2; ++k) {
      of.matrices.row(k) << 4 * weight[k] * weight[0], 4 * weight[k] * weight[1], -4 * weight[k];
    }
    return of;
  };
  constexpr int order = 4;
  const HeadPath path = fock_flow(
      {wishart_coefficients(0.3, kappa[0], order + 1), wishart_coefficients(0.3, kappa[1], order + 1)},
      {jacobi_coefficients(empirical_law(eigenvalues), order + 1)}, drift, times_to(end, steps),
      {.order = order, .tolerance = 1e-6, .max_steps = 10000, .stop = {}});
  ASSERT_EQ(path.outcome, Outcome::converged);

  Eigen::setNbThreads(1);
  std::vector<Eigen::MatrixXd> w;
  for (int k = 0; k < 2; ++k) {
    w.emplace_back(gaussian_matrix(d, static_cast<int>(kappa[k] * d), 40 + k) * std::sqrt(0.3 / d));
  }
  const auto sum_of = [&](const std::vector<Eigen::MatrixXd>& at) {
    Eigen::MatrixXd sum = weight[0] * at[0] * at[0].transpose() + weight[1] * at[1] * at[1].transpose();
    sum.diagonal() -= teacher;
    return sum;
  };
  double worst = 0;
  for (int n = 0; n <= steps; ++n) {
    const HeadOverlaps& at = path.points[n].overlaps;
    const std::vector<Eigen::MatrixXd> s = {w[0] * w[0].transpose(), w[1] * w[1].transpose()};
    worst = std::max({worst, std::abs(at.products(0, 0) - s[0].squaredNorm() / d),
                      std::abs(at.products(0, 1) - (s[0].array() * s[1].array()).sum() / d),
                      std::abs(at.products(1, 1) - s[1].squaredNorm() / d),
                      std::abs(at.products(1, 2) - teacher.dot(s[1].diagonal()) / d),
                      std::abs(at.traces[0] - s[0].trace() / d)});
    constexpr double h = end / steps;
    std::vector<Eigen::MatrixXd> middle = w;
    const Eigen::MatrixXd force = sum_of(w);
    for (int k = 0; k < 2; ++k) middle[k] -= 0.5 * h * 4 * weight[k] * (force * w[k]);
    const Eigen::MatrixXd force_in_middle = sum_of(middle);
    for (int k = 0; k < 2; ++k) w[k] -= h * 4 * weight[k] * (force_in_middle * middle[k]);
  }
  EXPECT_LT(worst, 3.0 / d);
}

TEST(Fock, RefusesOrdersOutOfRange) {
  const SymmetricLoss loss(softmax, 1.5);
  FockOptions options;
  options.order = 0;
  EXPECT_THROW(fock_flow(loss, WishartLaw{0.5}, {0.3, 1}, {1}, options), InvalidParameter);
  options.order = 14;
  EXPECT_THROW(fock_flow(loss, WishartLaw{0.5}, {0.3, 1}, {1}, options), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
