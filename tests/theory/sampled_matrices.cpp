#include "sampled_matrices.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <span>

#include "qklab/core/random.hpp"

namespace qklab::theory::test {

using Eigen::MatrixXd;

MatrixXd gaussian(int rows, int columns, std::uint64_t seed) {
  MatrixXd matrix(rows, columns);
  RandomStream(seed, Purpose::probe)
      .fill_normal(std::span(matrix.data(), static_cast<std::size_t>(matrix.size())));
  return matrix;
}

MatrixXd goe(int dimension, std::uint64_t seed) {
  const MatrixXd g = gaussian(dimension, dimension, seed);
  return (g + g.transpose()) / std::sqrt(2.0 * dimension);
}

MatrixXd wishart(int dimension, int rank, std::uint64_t seed) {
  const MatrixXd factor = gaussian(dimension, rank, seed);
  return factor * factor.transpose() / std::sqrt(static_cast<double>(rank) * dimension);
}

Eigenmodes eigenmodes(const MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

SingularModes singular_modes(const MatrixXd& square) {
  const Eigen::JacobiSVD<MatrixXd, Eigen::NoQRPreconditioner> svd(square,
                                                                  Eigen::ComputeFullU | Eigen::ComputeFullV);
  return {svd.matrixU(), svd.singularValues(), svd.matrixV()};
}

}  // namespace qklab::theory::test
