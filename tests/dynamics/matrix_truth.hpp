#pragma once

#include <Eigen/Dense>
#include <random>
#include <vector>

#include "qklab/dynamics/population/symmetric_loss.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::dynamics {

inline Eigen::MatrixXd gaussian_matrix(int rows, int columns, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = normal(generator);
  return matrix;
}

/// Eigenvalues of W0 W0^T/sqrt(p0 d), W0 d x p0.
inline std::vector<double> wishart_eigenvalues(int d, int p0, std::uint64_t seed) {
  const Eigen::MatrixXd w0 = gaussian_matrix(d, p0, seed);
  const Eigen::MatrixXd s0 = w0 * w0.transpose() / std::sqrt(static_cast<double>(p0) * d);
  const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(s0).eigenvalues();
  return {values.data(), values.data() + d};
}

struct MatrixPoint {
  double overlap = 0;
  double self_overlap = 0;
  double trace = 0;
};

/// dW/dtau = -(4 Phi_q S + 2 Phi_m S0 + g) W for a diagonal teacher, by Runge-Kutta steps of order 4. One
/// point at 0 and one after every step.
inline std::vector<MatrixPoint> matrix_flow_of(const SymmetricLoss& loss, const Eigen::VectorXd& teacher,
                                               Eigen::MatrixXd w, double end, int steps, double decay = 0) {
  Eigen::setNbThreads(1);  // small products on threads that others hold cost more than they save
  const auto d = static_cast<double>(teacher.size());
  const auto measure = [&](const Eigen::MatrixXd& at) {
    const Eigen::MatrixXd gram = at.transpose() * at;
    return MatrixPoint{(teacher.array() * at.rowwise().squaredNorm().array()).sum() / d,
                       gram.squaredNorm() / d, gram.trace() / d};
  };
  const auto slope = [&](const Eigen::MatrixXd& at) -> Eigen::MatrixXd {
    const Eigen::MatrixXd gram = at.transpose() * at;
    const double m = (teacher.array() * at.rowwise().squaredNorm().array()).sum() / d;
    const LossSlopes slopes = loss.slopes(m, gram.squaredNorm() / d);
    return -4 * slopes.self_overlap * (at * gram) - 2 * slopes.overlap * (teacher.asDiagonal() * at) -
           decay * at;
  };
  const double h = end / steps;
  std::vector<MatrixPoint> points = {measure(w)};
  for (int n = 0; n < steps; ++n) {
    const Eigen::MatrixXd k1 = slope(w);
    const Eigen::MatrixXd k2 = slope(w + 0.5 * h * k1);
    const Eigen::MatrixXd k3 = slope(w + 0.5 * h * k2);
    const Eigen::MatrixXd k4 = slope(w + h * k3);
    w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    points.push_back(measure(w));
  }
  return points;
}

inline std::vector<double> times_to(double end, int intervals) {
  std::vector<double> times;
  for (int k = 0; k <= intervals; ++k) times.push_back(end * k / intervals);
  return times;
}

}  // namespace qklab::dynamics
