#pragma once

#include <Eigen/Core>
#include <optional>

namespace qklab::theory {

struct SingularVectors {
  Eigen::MatrixXd left;              ///< U
  Eigen::VectorXd values;            ///< descending
  Eigen::MatrixXd right_transposed;  ///< V^T
};

/// Singular value decomposition of a square matrix (LAPACK dgesdd), or nothing where that does not converge.
std::optional<SingularVectors> singular_vectors(Eigen::MatrixXd matrix);

/// The largest singular value of a square matrix. Throws Error when LAPACK does not converge.
double largest_singular_value(Eigen::MatrixXd matrix);

}  // namespace qklab::theory
