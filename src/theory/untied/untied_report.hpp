#pragma once

#include <Eigen/Core>

#include "qklab/theory/untied/untied.hpp"
#include "untied_samples.hpp"

namespace qklab::theory {

/// Fills in what follows from the fixed point x, with standard errors; the outcome of `solution` becomes
/// `diverged` where nothing follows.
void fill_observables(const Eigen::VectorXd& x, UntiedSamples& maps, UntiedSolution& solution);

/// The solution S = 0, from what UntiedMap::zero gives.
UntiedSolution zero_solution(const Problem& problem, const UntiedMap& map, const UntiedMap::Zero& zero);

}  // namespace qklab::theory
