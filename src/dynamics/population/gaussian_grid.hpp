#pragma once

#include <Eigen/Core>

namespace qklab::dynamics {

/// Equidistant points for expectations over a standard normal, symmetric about 0. For a function that is
/// analytic within distance a of the real line, the error is of order exp(-2 pi a/step) + exp(-2 pi^2/step^2)
/// + exp(-reach^2/2).
struct GaussianGrid {
  GaussianGrid(double spacing, double reach);

  double step;
  Eigen::ArrayXd nodes;
  Eigen::ArrayXd weights;
};

/// Weights of pairs of nodes for two standard normals of correlation rho, |rho| < 1.
Eigen::MatrixXd correlated_weights(const GaussianGrid& grid, double correlation);

}  // namespace qklab::dynamics
