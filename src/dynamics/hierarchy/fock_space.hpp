#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace qklab::dynamics {

/// Free self-adjoint letters of given laws as symmetric matrices on the free product of their polynomials,
/// cut at total degree `order`: (L^(order+1) - 1)/(L - 1) dimensions for L letters, the vacuum first.
///
/// Basis: words over the letters; a run of k equal letters stands for the k-th orthogonal polynomial of that
/// letter. A letter acts on the leading run through its Jacobi matrix. <0|w|0> is the free moment of the
/// word w, exact up to length 2 order + 1.
std::vector<Eigen::MatrixXd> free_letters(const std::vector<JacobiCoefficients>& laws, int order);

/// Dimensions of that space, as a double since it grows fast.
double fock_dimension(int letters, int order);

}  // namespace qklab::dynamics
