#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/sobol.hpp"

namespace qklab::dynamics {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Points and weights of expectations over iid standard normals; the weights sum to one.
struct GaussianNodes {
  RowMatrix normals;  ///< a row a coordinate, a column a point
  Eigen::VectorXd weights;
};

/// One set of nodes for each scrambling; in one or two dimensions a single one, a product of equidistant
/// grids (error exp(-2 pi a/step) for functions analytic within a of the real line).
std::vector<GaussianNodes> gaussian_nodes(int dimension, const QmcOptions& qmc);

}  // namespace qklab::dynamics
