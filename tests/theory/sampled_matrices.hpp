#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace qklab::theory::test {

/// iid standard normal entries.
Eigen::MatrixXd gaussian(int rows, int columns, std::uint64_t seed);

/// GOE matrix of spectral radius 2.
Eigen::MatrixXd goe(int dimension, std::uint64_t seed);

/// Wishart teacher W0 W0^T/sqrt(p0 d) with p0 = rank.
Eigen::MatrixXd wishart(int dimension, int rank, std::uint64_t seed);

/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix.
struct Eigenmodes {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

Eigenmodes eigenmodes(const Eigen::MatrixXd& symmetric);

/// A = U diag(values) V^T of a square matrix, values descending.
struct SingularModes {
  Eigen::MatrixXd left;
  Eigen::VectorXd values;
  Eigen::MatrixXd right;
};

SingularModes singular_modes(const Eigen::MatrixXd& square);

}  // namespace qklab::theory::test
