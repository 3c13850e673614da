#pragma once

#include "qklab/spectra/law.hpp"

namespace qklab::spectra {

/// Sums over the atoms of a discrete law, with r = u - s and W = v^2 at omega = u + i v:
///   G0(omega) = a1 - i v a0,   G0'(omega) = 2 W b0 - a0 + 2 i v b1.
struct AtomSums {
  double a0 = 0;  ///< sum w/(r^2 + W)
  double a1 = 0;  ///< sum w r/(r^2 + W)
  double b0 = 0;  ///< sum w/(r^2 + W)^2
  double b1 = 0;  ///< sum w r/(r^2 + W)^2
};

/// The sums at u = reference + offset, v^2 = height_squared. With an atom for reference the distance to it
/// keeps its relative accuracy however small it is. Needs r^2 + W > 0 for every atom.
AtomSums sum_atoms(const DiscreteLaw& law, double reference, double offset, double height_squared);

}  // namespace qklab::spectra
