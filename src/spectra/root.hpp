#pragma once

#include <cmath>

#include "qklab/core/bracketed_root.hpp"

namespace qklab::spectra {

/// Root of a continuous f between lo and hi to rounding. Where rounding hides the change of sign, the end at
/// which |f| is smaller.
template <class Function>
double bracketed_root(Function f, double lo, double hi) {
  const double f_lo = f(lo);
  const double f_hi = f(hi);
  if (f_lo == 0) return lo;
  if (f_hi == 0) return hi;
  if ((f_lo > 0) == (f_hi > 0)) return std::abs(f_lo) < std::abs(f_hi) ? lo : hi;
  return qklab::bracketed_root(f, lo, hi, f_lo, f_hi, 53);
}

}  // namespace qklab::spectra
