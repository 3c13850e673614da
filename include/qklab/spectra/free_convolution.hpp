#pragma once

#include <complex>
#include <functional>
#include <span>
#include <vector>

#include "qklab/spectra/law.hpp"

namespace qklab {

/// A point of a contour in the upper half plane, in the coordinate z of the free convolution.
/// For f analytic above the real axis and real on it:
///   int f(x) mu(dx)      = -(1/pi)  Im sum f(z) g dz
///   int f(x) H(x) mu(dx) = -(1/2pi) Im sum f(z) g^2 dz
/// over x above (contour_above) or below (contour_below) the cut.
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
///
/// Accuracy, for delta from 1e-6 to 1e3 times the width of the law: masses, moments and the integrals of x,
/// x^2 and H above a cut to 1e-12 relative, edges to 1e-14 of the largest one (measured against 32-digit
/// values). A cut between the edges of a single mode, whose interval is narrow, costs eps |cut| density(cut)
/// of mass: that is the rounding of the cut itself. Cost: O(atoms) for every point of a curve or contour, in
/// vector instructions.
///
/// NaN is an InvalidParameter everywhere; `mass_above` and the contours take infinities as well.
class FreeConvolution {
 public:
  /// Throws InvalidParameter unless delta > 0 and finite and the law is valid (law.hpp).
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

  /// The x with mu((x, infinity)) = fraction, 0 < fraction < 1 (else InvalidParameter); where that x is not
  /// unique (a gap of the support) the middle of the gap. Fractions within 1e-12 of the mass above a gap
  /// count as that mass.
  double upper_quantile(double fraction) const;

  /// Nodes of a contour that leaves the real axis at `cut` and ends on it above the whole support. Exact to
  /// rounding for polynomials f of low degree, however many intervals the support has: about 12 nodes for a
  /// cut near the top, 30-60 for delta of the order of the law's width, 130-190 for 1e-3 of it. Empty when
  /// cut is above the support.
  std::vector<ContourNode> contour_above(double cut) const;

  /// The same for int_{x < cut}, along a contour that ends below the whole support; the length scale of the
  /// contour is the distance from `cut` to the bottom of the law, so that small integrals near it keep their
  /// digits. Empty when cut is below the support.
  std::vector<ContourNode> contour_below(double cut) const;

  /// Quadrature nodes on the support, ascending, with panels that end at the edges and at the given
  /// breakpoints (any order; those off the support are ignored); for any f that is smooth between them. A law
  /// of d atoms has up to 40 d nodes at a cost of O(d) each: prefer the contours where f is a polynomial.
  std::vector<SpectralNode> nodes(std::span<const double> breakpoints = {}) const;

  /// int f dmu by `nodes`; jumps and kinks of f are allowed at the breakpoints.
  double integrate(const std::function<double(double)>& f, std::span<const double> breakpoints = {}) const;

 private:
  Law law_;
  double delta_;
};

}  // namespace qklab
