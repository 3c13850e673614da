#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>

namespace qklab {

/// Root between lo and hi of a continuous f whose values there, f_lo and f_hi, are of opposite signs, to
/// `bits` binary digits of the place (Alefeld, Potra and Shi 1995).
template <class Function>
double bracketed_root(const Function& f, double lo, double hi, double f_lo, double f_hi, int bits) {
  std::uintmax_t most = 200;
  const auto [below, above] = boost::math::tools::toms748_solve(
      f, lo, hi, f_lo, f_hi, boost::math::tools::eps_tolerance<double>(bits), most);
  return below + (above - below) / 2;
}

template <class Function>
double bracketed_root(const Function& f, double lo, double hi, int bits) {
  return bracketed_root(f, lo, hi, f(lo), f(hi), bits);
}

}  // namespace qklab
