#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>

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
  std::uintmax_t evaluations = 200;
  const auto [below, above] = boost::math::tools::toms748_solve(
      f, lo, hi, f_lo, f_hi, boost::math::tools::eps_tolerance<double>(53), evaluations);
  return below + (above - below) / 2;
}

}  // namespace qklab::spectra
