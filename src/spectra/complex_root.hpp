#pragma once

#include <cmath>
#include <complex>

namespace qklab::spectra {

/// 1/z for |z|^2 within the range of double; std::complex pays four times for the rest of the range.
inline std::complex<double> reciprocal(std::complex<double> z) {
  return std::conj(z) / std::norm(z);
}

/// Principal square root of z in the closed upper half plane, real and imaginary part each to rounding, for
/// |z|^2 within the range of double.
inline std::complex<double> upper_root(std::complex<double> z) {
  const double larger = std::sqrt((std::sqrt(std::norm(z)) + std::abs(z.real())) / 2);
  if (larger == 0) return 0;
  const double smaller = z.imag() / (2 * larger);
  return z.real() >= 0 ? std::complex<double>(larger, smaller) : std::complex<double>(smaller, larger);
}

/// sqrt((z - lo)(z - hi)), analytic in the upper half plane and ~ z far away. One square root of the product
/// would leave this sheet for Re z < (lo + hi)/2.
inline std::complex<double> edge_root(double lo, double hi, std::complex<double> z) {
  return upper_root(z - lo) * upper_root(z - hi);
}

}  // namespace qklab::spectra
