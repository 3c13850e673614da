#pragma once

#include <complex>
#include <functional>
#include <span>
#include <vector>

#include "qklab/spectra/law.hpp"

namespace qklab {

/// A point of a contour in the upper half plane, in the coordinate z of the free convolution.
/// For f analytic above the real axis and real on it:
///   int_{x > cut} f(x) mu(dx)      = -(1/pi)  Im sum f(z) g dz
///   int_{x > cut} f(x) H(x) mu(dx) = -(1/2pi) Im sum f(z) g^2 dz
struct ContourNode {
  std::complex<double> z;   ///< position
  std::complex<double> g;   ///< Stieltjes transform of mu at z
  std::complex<double> dz;  ///< quadrature weight times the line element
};

/// A node of a quadrature rule on the support: sum weight f(x) = int f dmu.
struct SpectralNode {
  double x = 0;
  double weight = 0;   ///< includes the density
  double density = 0;  ///< p(x)
  double hilbert = 0;  ///< H(x) = principal value of int mu(ds)/(x - s)
};

/// mu = law boxplus semicircle(delta): the law of S0 + delta Z, Z a GOE matrix of spectral radius 2.
///
/// Biane (1997): with omega = u + i v(u), v(u) = inf{v >= 0 : int law(ds)/((u-s)^2 + v^2) <= 1/delta^2},
/// x = omega + delta^2 G0(omega) is real, p(x) = v/(pi delta^2), H(x) = (x - u)/delta^2: no branch to choose.
/// Source: docs/theory section 2. All locations are in the units of the law.
class FreeConvolution {
 public:
  /// Throws InvalidParameter unless delta > 0 and finite.
  FreeConvolution(Law law, double delta);

  const Law& law() const { return law_; }
  double delta() const { return delta_; }

  /// Intervals of positive density, ascending and disjoint.
  std::vector<Interval> support() const;

  /// Lowest and highest edge of the support; much cheaper than `support` for a law of many atoms.
  Interval outer_edges() const;

  double density(double x) const;
  double hilbert(double x) const;

  /// omega(x) = u + i v with x = omega + delta^2 G0(omega), Im omega >= 0 (the boundary value of the
  /// subordination).
  std::complex<double> subordination(double x) const;

  /// mu((x, infinity)).
  double mass_above(double x) const;

  /// The x with mu((x, infinity)) = fraction, 0 < fraction < 1; where that x is not unique (a gap of the
  /// support) the middle of the gap.
  double upper_quantile(double fraction) const;

  /// Nodes of a contour that leaves the real axis at `cut` and ends on it above the whole support. Exact to
  /// rounding for polynomials f of low degree, however many intervals the support has. Empty when cut is
  /// above the support.
  std::vector<ContourNode> contour_above(double cut) const;

  /// Quadrature nodes on the support, with panels that end at the edges and at the given breakpoints; for any
  /// f that is smooth between them.
  std::vector<SpectralNode> nodes(std::span<const double> breakpoints = {}) const;

  /// int f dmu by `nodes`; jumps and kinks of f are allowed at the breakpoints.
  double integrate(const std::function<double(double)>& f, std::span<const double> breakpoints = {}) const;

 private:
  Law law_;
  double delta_;
};

}  // namespace qklab
