#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <vector>

#include "lab/plain_model.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

/// For T = 1 the objective is convex in S:
///   F(S) = (1/d^2) sum_mu (y_mu - <A_mu, S>)^2 + (lambda/d) |S|,   A_mu = (x x^T - I)/sqrt d,
/// with |S| = Tr S over S >= 0 (tied), the square of the Frobenius norm (direct) or the nuclear norm
/// (untied). It is minimised here in S itself by accelerated proximal gradient steps (Beck and Teboulle
/// 2009), restarted whenever F rises.
class ConvexProblem {
 public:
  ConvexProblem(const Problem& problem, std::uint64_t seed);
  Matrix minimiser() const;
  double value(const Matrix& s) const;

 private:
  double penalty(const Matrix& s) const;
  Matrix gradient(const Matrix& s) const;
  double lipschitz_constant() const;
  /// argmin over S' of |S' - S|^2/2 + step (lambda/d) |S'|: a map of the eigenvalues.
  Matrix proximal(const Matrix& s, double step) const;

  Parametrization parametrization_;
  double d_;
  double lambda_;
  std::vector<Matrix> measurements_;
  std::vector<double> labels_;
};

ConvexProblem::ConvexProblem(const Problem& problem, std::uint64_t seed)
    : parametrization_(problem.parametrization), d_(problem.dimension), lambda_(problem.lambda) {
  const Matrix teacher = draw_teacher(problem, seed);
  const Matrix identity = Matrix::Identity(problem.dimension, problem.dimension);
  for (long sample = 0; sample < sample_count(problem); ++sample) {
    const Matrix x = plain::tokens(problem, seed, sample);
    measurements_.emplace_back((x.transpose() * x - identity) / std::sqrt(d_));
    labels_.push_back(plain::label(problem, teacher, seed, sample)(0, 0));
  }
}

Matrix ConvexProblem::minimiser() const {
  const double step = 1 / lipschitz_constant();
  Matrix s = Matrix::Zero(static_cast<int>(d_), static_cast<int>(d_));
  Matrix ahead = s;
  double momentum = 1;
  double lowest = value(s);
  for (int iteration = 0; iteration < 4000; ++iteration) {
    const Matrix next = proximal(ahead - step * gradient(ahead), step);
    const double next_value = value(next);
    const double next_momentum = next_value > lowest ? 1 : (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = next_value > lowest ? next : Matrix(next + (momentum - 1) / next_momentum * (next - s));
    const double move = (next - s).norm();
    s = next;
    momentum = next_momentum;
    lowest = next_value;
    if (move < 1e-13 * s.norm()) break;
  }
  return s;
}

double ConvexProblem::value(const Matrix& s) const {
  double sum = 0;
  for (std::size_t mu = 0; mu < labels_.size(); ++mu) {
    const double residual = labels_[mu] - measurements_[mu].cwiseProduct(s).sum();
    sum += residual * residual;
  }
  return sum / (d_ * d_) + lambda_ / d_ * penalty(s);
}

double ConvexProblem::penalty(const Matrix& s) const {
  if (parametrization_ == Parametrization::direct) return s.squaredNorm();
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(s).eigenvalues().cwiseAbs().sum();
}

Matrix ConvexProblem::gradient(const Matrix& s) const {
  Matrix sum = Matrix::Zero(s.rows(), s.cols());
  for (std::size_t mu = 0; mu < labels_.size(); ++mu) {
    sum += (measurements_[mu].cwiseProduct(s).sum() - labels_[mu]) * measurements_[mu];
  }
  return 2 / (d_ * d_) * sum;
}

/// Largest eigenvalue of the Hessian, by power iteration, with a margin for its slow convergence.
double ConvexProblem::lipschitz_constant() const {
  Matrix direction = measurements_.front();
  const Matrix offset = gradient(Matrix::Zero(direction.rows(), direction.cols()));
  double largest = 0;
  for (int iteration = 0; iteration < 100; ++iteration) {
    direction /= direction.norm();
    direction = (gradient(direction) - offset).eval();
    largest = direction.norm();
  }
  return 1.05 * largest;
}

Matrix ConvexProblem::proximal(const Matrix& s, double step) const {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes((s + s.transpose()) / 2);
  const Eigen::ArrayXd levels = modes.eigenvalues();
  const double shrinkage = step * lambda_ / d_;
  Eigen::ArrayXd kept = (levels - shrinkage).cwiseMax(0);
  if (parametrization_ == Parametrization::untied) kept -= (-levels - shrinkage).cwiseMax(0);
  if (parametrization_ == Parametrization::direct) kept = levels / (1 + 2 * shrinkage);
  return modes.eigenvectors() * kept.matrix().asDiagonal() * modes.eigenvectors().transpose();
}

class EveryConvexProblem : public testing::TestWithParam<Parametrization> {};

TEST_P(EveryConvexProblem, TrainingFindsTheMinimiserInS) {
  Problem problem;
  problem.parametrization = GetParam();
  problem.activation = Activation::identity;
  problem.tokens = 1;
  problem.dimension = 20;
  problem.noise_out = 0.3;
  TrainOptions options;
  options.gradient_tolerance = 1e-9;
  options.max_epochs = 50000;
  options.test_samples = 100;
  const Matrix teacher = draw_teacher(problem, 8);
  for (double alpha : {0.5, 1.0, 2.0}) {
    for (double lambda : {0.1, 0.5}) {
      problem.alpha = alpha;
      problem.lambda = lambda;
      const ConvexProblem convex(problem, 8);
      const Matrix s = convex.minimiser();
      const double minimum = convex.value(s);
      const TrainedRun trained = run(problem, options, 8);
      EXPECT_EQ(trained.outcome, Outcome::converged);
      EXPECT_NEAR(trained.train_loss + trained.regularization, minimum, 1e-8 * minimum);
      EXPECT_NEAR(trained.self_overlap, overlap(s, s), 1e-4 * overlap(s, s));
      EXPECT_NEAR(trained.overlap, overlap(s, teacher), 1e-4 * overlap(s, s));
      const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(s).eigenvalues();
      const double largest = eigenvalues.cwiseAbs().maxCoeff();
      for (int i = 0; i < 20; ++i) EXPECT_NEAR(trained.eigenvalues[i], eigenvalues[i], 1e-4 * largest);
      if (GetParam() == Parametrization::direct) continue;
      EXPECT_NEAR(trained.regularization, lambda * eigenvalues.cwiseAbs().sum() / 20, 1e-5 * lambda);
      problem.kappa = 3;
      const TrainedRun wide = run(problem, options, 8);
      problem.kappa = 1;
      EXPECT_NEAR(wide.train_loss + wide.regularization, minimum, 1e-8 * minimum)
          << "width beyond d adds nothing";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Students, EveryConvexProblem,
                         testing::Values(Parametrization::tied, Parametrization::direct,
                                         Parametrization::untied),
                         [](const auto& param) { return to_string(param.param); });

}  // namespace
}  // namespace qklab::lab
