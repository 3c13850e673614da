#include "qklab/dynamics/tied/tied_flow.hpp"

#include <gtest/gtest.h>

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

struct FlowCase {
  SampleLoss loss;
  TiedStart start;
  double end = 1;
  int steps = 60;
  double decay = 0;
};

// Averages over starts: fluctuations and the bias of a finite matrix are both of order 1/d.
TEST(TiedFlow, IsTheFlowOfLargeMatrices) {
  constexpr int d = 100;
  constexpr int seeds = 3;
  for (const FlowCase& one :
       {FlowCase{softmax, {0.3, 1}, 4, 60}, FlowCase{softmax, {0.3, 0.4}, 4, 60, 0.05},
        FlowCase{identity, {0.3, 1}, 0.3, 60}, FlowCase{hermite2, {0.3, 1}, 0.35, 80}}) {
    const std::vector<double> eigenvalues = wishart_eigenvalues(d, d / 2, 5);
    const DiscreteLaw teacher = empirical_law(eigenvalues);
    const SymmetricLoss loss(one.loss, moment(teacher, 2));
    const Eigen::VectorXd diagonal = Eigen::Map<const Eigen::VectorXd>(eigenvalues.data(), d);
    const int p = static_cast<int>(std::lround(one.start.kappa * d));
    const Trajectory theory =
        tied_flow(loss, teacher, one.start, times_to(one.end, one.steps),
                  {.weight_decay = one.decay, .tolerance = 1e-9, .max_steps = 100000, .stop = {}});
    ASSERT_EQ(theory.outcome, Outcome::converged);
    std::vector<MatrixPoint> mean(one.steps + 1);
    for (int seed = 0; seed < seeds; ++seed) {
      const Eigen::MatrixXd w = gaussian_matrix(d, p, 100 + seed) * std::sqrt(one.start.entry_variance() / d);
      const auto run = matrix_flow_of(loss, diagonal, w, one.end, one.steps, one.decay);
      for (int k = 0; k <= one.steps; ++k) {
        mean[k].overlap += run[k].overlap / seeds;
        mean[k].self_overlap += run[k].self_overlap / seeds;
        mean[k].trace += run[k].trace / seeds;
      }
    }
    double worst = 0;
    for (int k = 0; k <= one.steps; ++k) {
      const TrajectoryPoint& point = theory.points[k];
      worst = std::max({worst, std::abs(point.overlap.value - mean[k].overlap),
                        std::abs(point.self_overlap.value - mean[k].self_overlap),
                        std::abs(point.trace.value - mean[k].trace)});
    }
    EXPECT_LT(worst, 2.0 / d) << to_string(one.loss.activation) << " kappa " << one.start.kappa;
  }
}

// The same flow in other variables: F itself and the sample covariance root of the design, by Runge-Kutta
// steps of order 4.
std::vector<MatrixPoint> in_plain_variables(const SymmetricLoss& loss, const DiscreteLaw& law,
                                            const TiedStart& start, double end, int steps, int keep) {
  const Eigen::Map<const Eigen::ArrayXd> s(law.locations.data(), std::ssize(law.locations));
  const Eigen::Map<const Eigen::ArrayXd> mass(law.masses.data(), std::ssize(law.masses));
  const double c = start.entry_variance();
  const auto measure = [&](double B, const Eigen::ArrayXd& f) {
    const Eigen::ArrayXd square = (-2 * B * s).exp();
    double lo = -60;
    double hi = 10;
    for (int bisection = 0; bisection < 100; ++bisection) {
      const double rho = std::exp(0.5 * (lo + hi));
      const double excess = 1 / (c * start.kappa) + (mass * f / (1 + rho * f)).sum() / start.kappa - 1 / rho;
      (excess > 0 ? hi : lo) = 0.5 * (lo + hi);
    }
    const double rho = std::exp(0.5 * (lo + hi));
    const Eigen::ArrayXd load = 1 + rho * f;
    const double slope = (mass * square / load.square()).sum() / start.kappa /
                         (-1 / (rho * rho) + (mass * f.square() / load.square()).sum() / start.kappa);
    return MatrixPoint{(mass * s * square * rho / load).sum(),
                       (mass * square * (rho * rho * square - slope) / load.square()).sum(),
                       (mass * square * rho / load).sum()};
  };
  double B = 0;
  Eigen::ArrayXd f = Eigen::ArrayXd::Zero(s.size());
  const auto slope = [&](double at, const Eigen::ArrayXd& f_at) {
    const MatrixPoint point = measure(at, f_at);
    const LossSlopes slopes = loss.slopes(point.overlap, point.self_overlap);
    return std::pair<double, Eigen::ArrayXd>(2 * slopes.overlap,
                                             8 * slopes.self_overlap * (-2 * at * s).exp());
  };
  std::vector<MatrixPoint> points = {measure(B, f)};
  const double h = end / steps;
  for (int n = 1; n <= steps; ++n) {
    const auto k1 = slope(B, f);
    const auto k2 = slope(B + 0.5 * h * k1.first, f + 0.5 * h * k1.second);
    const auto k3 = slope(B + 0.5 * h * k2.first, f + 0.5 * h * k2.second);
    const auto k4 = slope(B + h * k3.first, f + h * k3.second);
    B += h / 6 * (k1.first + 2 * k2.first + 2 * k3.first + k4.first);
    f += h / 6 * (k1.second + 2 * k2.second + 2 * k3.second + k4.second);
    if (n % keep == 0) points.push_back(measure(B, f));
  }
  return points;
}

TEST(TiedFlow, AgreesWithPlainVariablesToEightDigits) {
  const DiscreteLaw teacher = flow_law(WishartLaw{0.5});
  const SymmetricLoss loss(softmax, 1.5);
  for (const TiedStart& start : {TiedStart{0.3, 1}, TiedStart{0.5, 0.6}, TiedStart{0.2, 2}}) {
    const auto plain = in_plain_variables(loss, teacher, start, 2, 1000, 100);
    const Trajectory flow = tied_flow(loss, teacher, start, times_to(2, 10));
    for (std::size_t k = 0; k < plain.size(); ++k) {
      EXPECT_NEAR(flow.points[k].overlap.value, plain[k].overlap, 1e-8);
      EXPECT_NEAR(flow.points[k].self_overlap.value, plain[k].self_overlap, 1e-8);
      EXPECT_NEAR(flow.points[k].trace.value, plain[k].trace, 1e-8);
    }
  }
}

// The first equation of the infinite hierarchy, dt1 = -a q - 2b m - 2g t1, is not used by the solver.
TEST(TiedFlow, ObeysTheFirstEquationOfTheHierarchy) {
  const DiscreteLaw teacher = flow_law(WishartLaw{0.5});
  for (const SampleLoss& sample : {softmax, hermite2}) {
    const SymmetricLoss loss(sample, 1.5);
    const double decay = 0.2;
    const double h = 2e-4;
    std::vector<double> times;
    for (const double middle : {0.05, 0.1, 0.3}) {
      for (const int k : {-2, -1, 0, 1, 2}) times.push_back(middle + k * h);
    }
    const Trajectory flow =
        tied_flow(loss, teacher, {0.3, 1}, times,
                  {.weight_decay = decay, .tolerance = 1e-12, .max_steps = 100000, .stop = {}});
    for (std::size_t first = 0; first < times.size(); first += 5) {
      const auto trace = [&](int k) { return flow.points[first + k].trace.value; };
      const TrajectoryPoint& at = flow.points[first + 2];
      const LossSlopes slopes = loss.slopes(at.overlap.value, at.self_overlap.value);
      const double found = (8 * (trace(3) - trace(1)) - (trace(4) - trace(0))) / (12 * h);
      const double expected = -8 * slopes.self_overlap * at.self_overlap.value -
                              4 * slopes.overlap * at.overlap.value - 2 * decay * at.trace.value;
      EXPECT_NEAR(found, expected, 1e-7 * (1 + std::abs(expected)));
    }
  }
}

TEST(TiedFlow, LearnsTheTeacherAndStaysThere) {
  const SymmetricLoss loss(softmax, 1.5);
  const Trajectory flow = tied_flow(loss, flow_law(WishartLaw{0.5}), {0.3, 1}, {0, 1, 10, 100, 1000});
  ASSERT_EQ(flow.outcome, Outcome::converged);
  EXPECT_NEAR(flow.points[0].overlap.value, 0.3 * std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(flow.points[0].self_overlap.value, 2 * 0.3 * 0.3, 1e-12);
  for (std::size_t k = 1; k < flow.points.size(); ++k) {
    EXPECT_LT(flow.points[k].loss.value, flow.points[k - 1].loss.value);
    EXPECT_GT(flow.points[k].alignment.value, flow.points[k - 1].alignment.value);
  }
  EXPECT_NEAR(flow.points.back().alignment.value, 1, 1e-4);
}

// S ends at the weights that fit and have rank p: a narrow student keeps the largest modes.
TEST(TiedFlow, NarrowStudentKeepsTheLargestModes) {
  const DiscreteLaw teacher{{0.5, 1.0, 2.0}, {0.5, 0.25, 0.25}};
  const SymmetricLoss loss(identity, moment(teacher, 2));
  const TiedPath path = tied_path(loss, teacher, {0.1, 0.25}, {40});
  ASSERT_EQ(path.outcome, Outcome::converged);
  const Eigen::ArrayXd& profile = path.students[0].profile;
  EXPECT_NEAR(profile[0], 0, 1e-3);
  EXPECT_NEAR(profile[1], 0, 1e-3);
  EXPECT_NEAR(profile[2], 2, 1e-3);
}

TEST(TiedFlow, RefusesWhatHasNoMeaning) {
  const SymmetricLoss loss(softmax, 1.5);
  const DiscreteLaw teacher = flow_law(WishartLaw{0.5});
  EXPECT_THROW(tied_flow(loss, teacher, {0, 1}, {1}), InvalidParameter);
  EXPECT_THROW(tied_flow(loss, teacher, {0.3, -1}, {1}), InvalidParameter);
  EXPECT_THROW(tied_flow(loss, teacher, {0.3, 1}, {1, 0.5}), InvalidParameter);
  EXPECT_THROW(tied_flow(loss, {}, {0.3, 1}, {1}), InvalidParameter);
  FlowOptions options;
  options.weight_decay = -1;
  EXPECT_THROW(tied_flow(loss, teacher, {0.3, 1}, {1}, options), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
