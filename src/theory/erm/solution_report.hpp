#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/theory/fixed_point/solution.hpp"
#include "state_evolution_samples.hpp"

namespace qklab::theory {

/// Fills in what follows from the fixed point x, with standard errors where `solution` is a sampled answer;
/// its outcome becomes `diverged` where nothing follows.
void fill_observables(const Eigen::VectorXd& x, StateEvolutionSamples& maps, Solution& solution);

/// The solution S = 0, from what StateEvolutionMap::observe_zero gives.
Solution zero_solution(const Problem& problem, const std::vector<Observation>& zero);

}  // namespace qklab::theory
