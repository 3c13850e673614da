#pragma once

#include <Eigen/Core>

namespace qklab::lab {

/// A dense matrix, row after row: the rows of W are the d input coordinates.
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace qklab::lab
