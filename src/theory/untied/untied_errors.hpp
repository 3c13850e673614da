#pragma once

#include <Eigen/Core>
#include <vector>

#include "untied_map.hpp"

namespace qklab::theory {

/// Both sides of the map at its fixed point: what each scrambling and each sampled matrix gives there.
struct UntiedSides {
  Eigen::VectorXd x;
  std::vector<UntiedOutputExpectations> outputs;
  std::vector<double> test_errors;
  std::vector<UntiedStudent> students;  ///< at the mean of the outputs
};

/// A solution in a vector: coordinates x, logarithms of the conjugates, and four observables.
struct UntiedVariables {
  Eigen::VectorXd x;
  UntiedConjugateParameters hats;
  double loss = 0;
  double test_error = 0;
  double penalty = 0;
  double zero_fraction = 0;
};

/// The variables at the fixed point of the mean map, and those of the maps that have one scrambling or one
/// sampled matrix in place of the mean: to first order these fixed points differ by (1 - J)^-1 times the
/// difference of the maps (8.14).
struct UntiedReplicas {
  UntiedVariables mean;
  std::vector<UntiedVariables> of_scramblings;
  std::vector<UntiedVariables> of_matrices;
};

/// Slopes are taken from `coarse`, a smaller sample of the same map; NaN replicas where it is not defined.
UntiedReplicas replicas(const UntiedSides& sides, const UntiedMap& map, UntiedMap& coarse);

}  // namespace qklab::theory
