#pragma once

#include <vector>

#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

/// U diag(values) U^T from the columns of U whose value is not zero, exactly symmetric.
Matrix from_modes(const Eigen::MatrixXd& vectors, const std::vector<double>& values);

/// (2/d^2) tr df/dR of a function f of symmetric d x d matrices that acts on their eigenvalues: the divided
/// differences over all pairs of ascending levels r, from the images f(r) and the slopes f'(r).
double mean_response(const std::vector<double>& levels, const std::vector<double>& images,
                     const std::vector<double>& slopes);

}  // namespace qklab::lab
