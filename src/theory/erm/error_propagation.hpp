#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/standard_error.hpp"
#include "state_evolution_map.hpp"

namespace qklab::theory {

/// Spread of the fixed point and of its observables over independent scramblings.
struct PropagatedErrors {
  Eigen::VectorXd overlap;         ///< m of each scrambling's own fixed point
  Eigen::VectorXd self_overlap;    ///< q
  Eigen::VectorXd susceptibility;  ///< V
  Eigen::MatrixXd observables;     ///< observable_count x scramblings
};

/// Each scrambling s has a map F_s of its own. To first order its fixed point is x + (1 - J)^-1 (F_s(x) -
/// F(x)), and its observables move along; J and the observables' slopes are taken from `coarse`, a smaller
/// sample of the same map.
PropagatedErrors propagate_errors(const Eigen::VectorXd& x, const std::vector<Observation>& observations,
                                  const StateEvolutionMap& map, StateEvolutionMap& coarse);

/// Standard error of the mean of the entries.
double standard_error(const Eigen::VectorXd& values);

}  // namespace qklab::theory
