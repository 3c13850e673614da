#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <random>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab {
namespace {

/// Eigenvalues, ascending, of diag(modes) + delta Z with a GOE matrix Z of spectral radius 2.
Eigen::VectorXd noisy_eigenvalues(const std::vector<double>& modes, double delta, unsigned seed) {
  const int d = static_cast<int>(modes.size());
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd matrix(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) {
      matrix(i, j) = delta * normal(engine) * std::sqrt((i == j ? 2.0 : 1.0) / d) + (i == j ? modes[i] : 0.0);
    }
  }
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly).eigenvalues();
}

/// Largest distance between the empirical distribution and mu (Kolmogorov-Smirnov).
double distance(const Eigen::VectorXd& eigenvalues, const FreeConvolution& mu) {
  const auto d = static_cast<double>(eigenvalues.size());
  double largest = 0;
  for (int i = 0; i < eigenvalues.size(); ++i) {
    largest = std::max(largest, std::abs(mu.mass_above(eigenvalues[i]) - (d - i - 0.5) / d));
  }
  return largest;
}

TEST(Sampling, EigenvaluesOfANoisyMatrixFollowTheLaw) {
  // Eigenvalues are rigid: the distance falls like log(d)/d, not like 1/sqrt(d).
  const int d = 300;
  for (double gamma : {0.75, 1.25}) {
    const std::vector<double> modes = power_law_eigenvalues(PowerLawTeacher{gamma, 0}, d);
    for (double delta : {0.05, 0.3, 1.0}) {
      const FreeConvolution mu(empirical_law(modes), delta);
      EXPECT_LT(distance(noisy_eigenvalues(modes, delta, 7), mu), 4.0 / d) << gamma << " " << delta;
    }
  }
}

TEST(Sampling, WishartTeachersFollowTheLimit) {
  const int d = 300;
  const int rank = 150;
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd weights(d, rank);
  for (double& w : weights.reshaped()) w = normal(engine);
  const Eigen::MatrixXd teacher = weights * weights.transpose() / std::sqrt(static_cast<double>(rank) * d);
  const Eigen::VectorXd modes =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(teacher, Eigen::EigenvaluesOnly).eigenvalues();
  const Eigen::VectorXd noisy = noisy_eigenvalues({modes.begin(), modes.end()}, 0.4, 13);
  EXPECT_LT(distance(noisy, FreeConvolution(WishartLaw{0.5}, 0.4)), 4.0 / d);
}

}  // namespace
}  // namespace qklab
