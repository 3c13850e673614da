#pragma once

#include <vector>

#include "qklab/dynamics/tied/tied_flow.hpp"

namespace qklab::dynamics {

/// Density of the eigenvalues of S(tau) at the given points, per unit of x, of total mass min(1, p/d); the
/// rest is an atom at 0 (docs/theory (10.51)).
///
/// The teacher's law is taken as it is: what the student has learned of an atom is a bump at it, and the
/// narrower the better it is learned. `smoothing` convolves with a Cauchy law of that width, to see a density
/// through the bumps of a list of eigenvalues; 0 stands for 1e-7 of the largest eigenvalue. Throws
/// InvalidParameter for points <= 0 or a negative smoothing, and Error where the equation is not solved.
std::vector<double> tied_spectrum(const TiedStudent& student, const std::vector<double>& points,
                                  double smoothing = 0);

}  // namespace qklab::dynamics
