#include "gaussian_nodes.hpp"

#include <cmath>
#include <numbers>

namespace qklab::dynamics {
namespace {

using Eigen::Index;

constexpr double step = 0.25;
constexpr Index half = 34;  ///< points on either side of 0, as far as 8.5

GaussianNodes product_grid(int dimension) {
  const Index side = 2 * half + 1;
  const Index count = dimension == 1 ? side : side * side;
  GaussianNodes nodes{RowMatrix(dimension, count), Eigen::VectorXd(count)};
  for (Index i = 0; i < count; ++i) {
    const Index column = i % side;
    const Index row = i / side;
    nodes.normals(0, i) = step * static_cast<double>(column - half);
    if (dimension == 2) nodes.normals(1, i) = step * static_cast<double>(row - half);
    nodes.weights[i] = std::pow(step / std::sqrt(2 * std::numbers::pi), dimension) *
                       std::exp(-0.5 * nodes.normals.col(i).squaredNorm());
  }
  return nodes;
}

}  // namespace

std::vector<GaussianNodes> gaussian_nodes(int dimension, const QmcOptions& qmc) {
  if (dimension <= 2) return {product_grid(dimension)};
  std::vector<GaussianNodes> sets;
  const int count = (1 << qmc.log2_points) / qmc.scramblings;
  for (int scrambling = 0; scrambling < qmc.scramblings; ++scrambling) {
    const std::vector<double> normals = scrambled_sobol_normals(dimension, count, qmc.seed, scrambling);
    sets.push_back({Eigen::Map<const RowMatrix>(normals.data(), dimension, count),
                    Eigen::VectorXd::Constant(count, 1.0 / count)});
  }
  return sets;
}

}  // namespace qklab::dynamics
