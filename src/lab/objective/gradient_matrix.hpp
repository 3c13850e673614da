#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

/// Gradient of the data term of (1.4) in S, d x d: (1/d^2) sum_mu grad_S ||y - sigma(h(S))||^2. Symmetric,
/// but for untied students of several tokens.
template <class Real>
Matrix gradient_matrix(const Dataset<Real>& data, const Problem& problem, const Matrix& student);

/// Unit vectors: S + a u v^T costs less for small a > 0.
struct Direction {
  Eigen::VectorXd left;   ///< u
  Eigen::VectorXd right;  ///< v; the same where S = W W^T
};

/// The directions, orthogonal to each other, in which the objective falls faster than `least` per unit of a;
/// fastest first. None at a minimum over S.
std::vector<Direction> falling_directions(const Problem& problem, const Matrix& gradient, double least);

}  // namespace qklab::lab
