#pragma once

#include <complex>
#include <vector>

#include "qklab/spectra/law.hpp"

namespace qklab::spectra {

/// A node of a path in the upper half omega-plane with its weight times the line element.
struct PathNode {
  std::complex<double> omega;
  std::complex<double> domega;
};

/// Nodes of a path from `start` (Im >= 0, off the singularities) around everything on the real axis up to
/// `top` and down to the real axis beyond it, for functions that are real on the axis above `top` and
/// singular only on the axis, at a distance >= `clearance` from Re start. Only imaginary parts of the sums
/// have a meaning.
std::vector<PathNode> path_over(std::complex<double> start, double top, double clearance);

}  // namespace qklab::spectra
