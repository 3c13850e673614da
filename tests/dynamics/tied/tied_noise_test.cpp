#include "qklab/dynamics/tied/tied_noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/matrix_truth.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace qklab::dynamics {
namespace {

const SampleLoss softmax{Activation::softmax, 2, 1.0, SampleLoss::Entries::all};
const SampleLoss identity{Activation::identity, 1, 1.0, SampleLoss::Entries::all};
const SampleLoss hermite2{Activation::hermite2, 2, 1.0, SampleLoss::Entries::one_pair};

/// dW = -(4 Phi_q S + 2 Phi_m S0) W dtau - sqrt(e) dX W, X a GOE Brownian motion: Heun steps of the drift.
std::vector<MatrixPoint> noisy_matrix(const SymmetricLoss& loss, const Eigen::VectorXd& teacher,
                                      Eigen::MatrixXd w, double nu, double end, int steps,
                                      std::uint64_t seed) {
  Eigen::setNbThreads(1);
  const auto d = static_cast<double>(teacher.size());
  const double h = end / steps;
  MatrixPoint point;
  const auto drift = [&](const Eigen::MatrixXd& at) -> Eigen::MatrixXd {
    const Eigen::MatrixXd gram = at.transpose() * at;
    point = {(teacher.array() * at.rowwise().squaredNorm().array()).sum() / d, gram.squaredNorm() / d,
             gram.trace() / d};
    const LossSlopes slopes = loss.slopes(point.overlap, point.self_overlap);
    return -4 * slopes.self_overlap * (at * gram) - 2 * slopes.overlap * (teacher.asDiagonal() * at);
  };
  std::vector<MatrixPoint> points;
  for (int n = 0; n <= steps; ++n) {
    const Eigen::MatrixXd k1 = drift(w);
    points.push_back(point);
    const double e = nu * loss.noise_strength(point.overlap, point.self_overlap);
    const Eigen::MatrixXd k2 = drift(w + h * k1);
    const Eigen::MatrixXd g = gaussian_matrix(static_cast<int>(d), static_cast<int>(d), 1000 * seed + n);
    const Eigen::MatrixXd x = (g + g.transpose()) * std::sqrt(h / (2 * d));
    w += h / 2 * (k1 + k2) - std::sqrt(e) * (x * w);
  }
  return points;
}

/// The flow of S with the mean e t1 I of the noise and without its martingale part.
std::vector<MatrixPoint> mean_of_noise_alone(const SymmetricLoss& loss, const Eigen::VectorXd& teacher,
                                             Eigen::MatrixXd s, double nu, double end, int steps) {
  const auto d = static_cast<double>(teacher.size());
  MatrixPoint point;
  const auto slope = [&](const Eigen::MatrixXd& at) -> Eigen::MatrixXd {
    point = {teacher.dot(at.diagonal()) / d, at.squaredNorm() / d, at.trace() / d};
    const LossSlopes slopes = loss.slopes(point.overlap, point.self_overlap);
    const Eigen::MatrixXd product = teacher.asDiagonal() * at;
    Eigen::MatrixXd change = -8 * slopes.self_overlap * (at * at) - 2 * slopes.overlap * product -
                             2 * slopes.overlap * product.transpose();
    change.diagonal().array() += nu * loss.noise_strength(point.overlap, point.self_overlap) * point.trace;
    return change;
  };
  std::vector<MatrixPoint> points;
  for (int n = 0; n <= steps; ++n) {
    const Eigen::MatrixXd k1 = slope(s);
    points.push_back(point);
    const Eigen::MatrixXd k2 = slope(s + end / (2 * steps) * k1);
    s += end / steps * k2;
  }
  return points;
}

double largest_gap(const Trajectory& flow, const std::vector<MatrixPoint>& mean) {
  double worst = 0;
  for (std::size_t k = 0; k < flow.points.size(); ++k) {
    worst = std::max({worst, std::abs(flow.points[k].overlap.value - mean[k].overlap),
                      std::abs(flow.points[k].self_overlap.value - mean[k].self_overlap),
                      std::abs(flow.points[k].trace.value - mean[k].trace)});
  }
  return worst;
}

struct NoiseCase {
  SampleLoss loss;
  double kappa;
  double nu;
  double end;
};

// A stochastic equation for matrices of d = 100, averaged over seeds; both its fluctuations and its bias are
// of order 1/d.
TEST(TiedNoise, IsTheStochasticEquationOfLargeMatrices) {
  constexpr int d = 100;
  constexpr int seeds = 3;
  constexpr int steps = 100;
  for (const NoiseCase& one : {NoiseCase{softmax, 0.5, 1, 2}, NoiseCase{identity, 1, 0.02, 0.3}}) {
    const std::vector<double> eigenvalues = wishart_eigenvalues(d, d / 2, 5);
    const DiscreteLaw teacher = empirical_law(eigenvalues);
    const SymmetricLoss loss(one.loss, moment(teacher, 2));
    const Eigen::VectorXd diagonal = Eigen::Map<const Eigen::VectorXd>(eigenvalues.data(), d);
    const TiedStart start{0.3, one.kappa};
    const int p = static_cast<int>(std::lround(one.kappa * d));
    std::vector<MatrixPoint> mean(steps + 1);
    for (int seed = 0; seed < seeds; ++seed) {
      const Eigen::MatrixXd w = gaussian_matrix(d, p, 100 + seed) * std::sqrt(start.entry_variance() / d);
      const auto run = noisy_matrix(loss, diagonal, w, one.nu, one.end, steps, seed + 1);
      for (int k = 0; k <= steps; ++k) {
        mean[k].overlap += run[k].overlap / seeds;
        mean[k].self_overlap += run[k].self_overlap / seeds;
        mean[k].trace += run[k].trace / seeds;
      }
    }
    const std::vector<double> times = times_to(one.end, steps);
    const Trajectory noisy = tied_flow_with_noise(loss, teacher, start, one.nu, times);
    ASSERT_EQ(noisy.outcome, Outcome::converged);
    EXPECT_LT(largest_gap(noisy, mean), 2.0 / d);
    if (one.loss.activation == Activation::identity) continue;  // too weak a noise to tell them apart
    EXPECT_GT(largest_gap(tied_flow(loss, teacher, start, times), mean), 4.0 / d);
    const Eigen::MatrixXd w = gaussian_matrix(d, p, 100) * std::sqrt(start.entry_variance() / d);
    const auto half = mean_of_noise_alone(loss, diagonal, w * w.transpose(), one.nu, one.end, steps);
    EXPECT_GT(largest_gap(noisy, half), 4.0 / d);
  }
}

TEST(TiedNoise, WithoutNoiseIsTheFlow) {
  const SymmetricLoss loss(softmax, 1.5);
  const DiscreteLaw teacher = flow_law(WishartLaw{0.5});
  const std::vector<double> times = times_to(3, 12);
  const Trajectory flow = tied_flow(loss, teacher, {0.3, 1}, times,
                                    {.weight_decay = 0.1, .tolerance = 1e-9, .max_steps = 10000, .stop = {}});
  for (const double tolerance : {1e-3, 1e-5}) {
    const Trajectory same = tied_flow_with_noise(
        loss, teacher, {0.3, 1}, 0, times,
        {.weight_decay = 0.1, .tolerance = tolerance, .max_intervals = 1024, .stop = {}});
    ASSERT_EQ(same.outcome, Outcome::converged);
    for (std::size_t k = 0; k < times.size(); ++k) {
      EXPECT_NEAR(same.points[k].overlap.value, flow.points[k].overlap.value, tolerance);
      EXPECT_NEAR(same.points[k].self_overlap.value, flow.points[k].self_overlap.value, tolerance);
      EXPECT_NEAR(same.points[k].trace.value, flow.points[k].trace.value, tolerance);
    }
  }
}

// At the start: dt1 = drift + e t1, dm = drift + e t1 t0, dq = drift + e (4 t1^2 + 2 q).
TEST(TiedNoise, FirstStepIsItos) {
  const SymmetricLoss loss(softmax, 1.5);
  const DiscreteLaw teacher = flow_law(WishartLaw{0.5});
  const TiedStart start{0.3, 1};
  const double nu = 0.7;
  const std::vector<double> times = times_to(4e-3, 4);
  const NoisyFlowOptions exact{.weight_decay = 0, .tolerance = 1e-9, .max_intervals = 256, .stop = {}};
  const Trajectory with = tied_flow_with_noise(loss, teacher, start, nu, times, exact);
  const Trajectory without = tied_flow_with_noise(loss, teacher, start, 0, times, exact);
  const auto slope = [&](Estimate TrajectoryPoint::*which) {
    const auto gap = [&](int k) { return (with.points[k].*which).value - (without.points[k].*which).value; };
    return (48 * gap(1) - 36 * gap(2) + 16 * gap(3) - 3 * gap(4)) / 12e-3;
  };
  const double m = with.points[0].overlap.value;
  const double q = with.points[0].self_overlap.value;
  const double e = nu * loss.noise_strength(m, q);
  EXPECT_NEAR(slope(&TrajectoryPoint::trace), e * 0.3, 1e-5);
  EXPECT_NEAR(slope(&TrajectoryPoint::overlap), e * 0.3 * std::sqrt(0.5), 1e-5);
  EXPECT_NEAR(slope(&TrajectoryPoint::self_overlap), e * (4 * 0.3 * 0.3 + 2 * q), 1e-5);
}

TEST(TiedNoise, SaysWhenItDiverges) {
  const SymmetricLoss loss(hermite2, 1.5);
  const Trajectory flow = tied_flow_with_noise(loss, flow_law(WishartLaw{0.5}), {0.3, 1}, 2, times_to(3, 30));
  EXPECT_EQ(flow.outcome, Outcome::diverged);
  EXPECT_LT(flow.points.size(), 31U);
}

TEST(TiedNoise, RefusesWhatHasNoMeaning) {
  const SymmetricLoss loss(softmax, 1.5);
  const DiscreteLaw teacher = flow_law(WishartLaw{0.5});
  EXPECT_THROW(tied_flow_with_noise(loss, teacher, {0.3, 1}, -1, {1}), InvalidParameter);
  NoisyFlowOptions options;
  options.max_intervals = 2;
  EXPECT_THROW(tied_flow_with_noise(loss, teacher, {0.3, 1}, 1, {1}, options), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
