#include "gaussian_grid.hpp"

#include <cmath>
#include <numbers>

namespace qklab::dynamics {

GaussianGrid::GaussianGrid(double spacing, double reach) : step(spacing) {
  const auto half = static_cast<Eigen::Index>(std::ceil(reach / step));
  nodes = Eigen::ArrayXd::LinSpaced(2 * half + 1, -step * static_cast<double>(half),
                                    step * static_cast<double>(half));
  weights = (-0.5 * nodes.square()).exp() * (step / std::sqrt(2 * std::numbers::pi));
}

Eigen::MatrixXd correlated_weights(const GaussianGrid& grid, double correlation) {
  const double left = 1 - correlation * correlation;
  const double scale = grid.step * grid.step / (2 * std::numbers::pi * std::sqrt(left));
  const Eigen::Index size = grid.nodes.size();
  Eigen::MatrixXd weights(size, size);
  for (Eigen::Index j = 0; j < size; ++j) {
    const double y = grid.nodes[j];
    weights.col(j) =
        scale * ((grid.nodes.square() - 2 * correlation * y * grid.nodes + y * y) / (-2 * left)).exp();
  }
  return weights;
}

}  // namespace qklab::dynamics
