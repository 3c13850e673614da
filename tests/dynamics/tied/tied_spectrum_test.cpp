#include "qklab/dynamics/tied/tied_spectrum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/matrix_truth.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

// The matrix S = E W0 (I + W0^T F W0)^{-1} W0^T E itself, at the E and F of the theory.
Eigen::VectorXd drawn_eigenvalues(const TiedStudent& student, int d, int p, std::uint64_t seed) {
  const Eigen::ArrayXd square = student.growth / student.capacity;
  const Eigen::MatrixXd w = square.sqrt().matrix().asDiagonal() *
                            (gaussian_matrix(d, p, seed) * std::sqrt(student.entry_variance / d));
  const Eigen::MatrixXd inner =
      Eigen::MatrixXd::Identity(p, p) + w.transpose() * student.restraint.matrix().asDiagonal() * w;
  const Eigen::MatrixXd s = w * inner.llt().solve(w.transpose());
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(s).eigenvalues();
}

struct SpectrumCase {
  double time;
  double smoothing;
};

// What is learned of single eigenvalues are narrow bumps, seen through a smoothing.
TEST(TiedSpectrum, IsThatOfDrawnMatrices) {
  constexpr int d = 100;
  constexpr int count = 600;
  constexpr double top = 6;
  const DiscreteLaw teacher = empirical_law(wishart_eigenvalues(d, d / 2, 4));
  const SymmetricLoss loss({Activation::softmax, 2, 1.0, SampleLoss::Entries::all}, moment(teacher, 2));
  std::vector<double> points;
  for (int i = 0; i < count; ++i) points.push_back(top * (i + 0.5) / count);
  for (const double kappa : {1.0, 0.4}) {
    for (const SpectrumCase& one : {SpectrumCase{0, 0}, SpectrumCase{0.1, 0}, SpectrumCase{2, 0.015}}) {
      const TiedStudent student = tied_path(loss, teacher, {0.3, kappa}, {one.time}).students[0];
      const std::vector<double> density = tied_spectrum(student, points, one.smoothing);
      const auto integral = [&](auto weight) {
        double sum = 0;
        for (int i = 0; i < count; ++i) sum += weight(points[i]) * density[i] * top / count;
        return sum;
      };
      if (one.smoothing == 0) {
        EXPECT_NEAR(integral([](double x) { return x; }), student.trace, 2e-3);
        EXPECT_NEAR(integral([](double x) { return x * x; }), student.self_overlap, 2e-3);
      }
      const Eigen::VectorXd drawn = drawn_eigenvalues(student, d, static_cast<int>(kappa * d), 9);
      for (const double level : {0.5, 1.0, 1.5, 2.5}) {
        const double above = integral([&](double x) { return x > level ? 1.0 : 0.0; });
        EXPECT_NEAR(above, static_cast<double>((drawn.array() > level).count()) / d, 3.0 / d) << level;
      }
    }
  }
}

TEST(TiedSpectrum, RefusesPointsThatAreNotPositive) {
  const SymmetricLoss loss({Activation::softmax, 2, 1.0, SampleLoss::Entries::all}, 1.0);
  const TiedPath path = tied_path(loss, {{1.0}, {1.0}}, {0.3, 1}, {0.5});
  EXPECT_THROW(tied_spectrum(path.students[0], {0}), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
