#include "wishart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

#include "complex_root.hpp"
#include "continuous_support.hpp"
#include "qklab/core/error.hpp"
#include "root.hpp"

namespace qklab::spectra {
namespace {

using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMaxIterations = 1000;

// The functional inverse of G0 is omega(g) = 1/g + kappa0 a/(1 - a g) with the jump a = 1/sqrt(kappa0), so
// that x(g) = omega(g) + delta^2 g. Outside the support g is real and x'(g) < 0; the edges are the zeros of
// x'.

double jump(const WishartLaw& law) {
  return 1 / std::sqrt(law.kappa0);
}

double omega_of(const WishartLaw& law, double g) {
  return 1 / g + law.kappa0 * jump(law) / (1 - jump(law) * g);
}

/// g at the lowest (sign -1) or highest (sign +1) edge of the support: -g^2 x'(g) falls from 1 as |g| grows.
double outer_edge_g(const WishartLaw& law, double delta, int sign);

/// g at the edges of the gap between the blob of the atom at zero and the bulk, where there is one.
struct GapEdges {
  double below = 0;  ///< upper edge of the blob
  double above = 0;  ///< lower edge of the bulk
};
std::optional<GapEdges> gap_edges(const WishartLaw& law, double delta);

/// Real root of z(omega) = x below the lowest (sign -1) or above the highest (sign +1) edge: z is concave
/// (convex) there, so that Newton from omega = x, where z overshoots, approaches monotonically.
double beyond_outer_edge(const WishartLaw& law, double delta, double x, int sign);

/// The root of z(omega) = x in the upper half plane, for x inside the support.
Complex inside_support(const WishartLaw& law, double delta, double x);

double edge_x(const WishartLaw& law, double delta, double g) {
  return omega_of(law, g) + delta * delta * g;
}

}  // namespace

void check(const WishartLaw& law) {
  if (!(law.kappa0 > 0) || !std::isfinite(law.kappa0)) {
    throw InvalidParameter("kappa0", law.kappa0, "the target's rank ratio must be > 0 and finite");
  }
}

std::pair<Complex, Complex> resolvent(const WishartLaw& law, Complex z) {
  const double a = jump(law);
  const auto [low, high] = bulk(law);
  // a z g^2 - (z + a (1 - kappa0)) g + 1 = 0: of the two forms of its root the one without cancellation.
  const Complex root = edge_root(low, high, z);
  const Complex sum = z + a * (1 - law.kappa0);
  const bool aligned = sum.real() * root.real() + sum.imag() * root.imag() >= 0;
  const Complex g = aligned ? 2.0 * reciprocal(sum + root) : (sum - root) * reciprocal(2 * a * z);
  return {g, -g * (1.0 - a * g) * reciprocal(root)};
}

double moment(const WishartLaw& law, int k) {
  if (k == 0) return 1;
  return k == 1 ? std::sqrt(law.kappa0) : 1 + law.kappa0;
}

Interval bulk(const WishartLaw& law) {
  const double root = std::sqrt(law.kappa0);
  const double low = (law.kappa0 - 1) / (1 + root);
  return {low * low / root, (1 + root) * (1 + root) / root};
}

Interval hull(const WishartLaw& law) {
  const Interval density = bulk(law);
  return {law.kappa0 < 1 ? 0 : density.lo, density.hi};
}

double distance_to_support(const WishartLaw& law, double u) {
  const Interval density = bulk(law);
  const double to_bulk = std::max({0.0, density.lo - u, u - density.hi});
  return law.kappa0 < 1 ? std::min(to_bulk, std::abs(u)) : to_bulk;
}

std::vector<Interval> support(const WishartLaw& law, double delta) {
  const Interval outer = outer_edges(law, delta);
  const std::optional<GapEdges> gap = gap_edges(law, delta);
  if (!gap) return {outer};
  return {{outer.lo, edge_x(law, delta, gap->below)}, {edge_x(law, delta, gap->above), outer.hi}};
}

Interval outer_edges(const WishartLaw& law, double delta) {
  return {edge_x(law, delta, outer_edge_g(law, delta, -1)), edge_x(law, delta, outer_edge_g(law, delta, +1))};
}

Complex subordination(const WishartLaw& law, double delta, double x) {
  const Interval outer = outer_edges(law, delta);
  if (x <= outer.lo) return beyond_outer_edge(law, delta, x, -1);
  if (x >= outer.hi) return beyond_outer_edge(law, delta, x, +1);
  const std::optional<GapEdges> gap = gap_edges(law, delta);
  if (gap && edge_x(law, delta, gap->below) <= x && x <= edge_x(law, delta, gap->above)) {
    const auto excess = [&](double omega) {
      return omega + delta * delta * resolvent(law, omega).first.real() - x;
    };
    return bracketed_root(excess, omega_of(law, gap->below), omega_of(law, gap->above));
  }
  return inside_support(law, delta, x);
}

double mass_above(const WishartLaw& law, double delta, double x) {
  const double a = jump(law);
  const Complex omega = subordination(law, delta, x);
  const Complex g = resolvent(law, omega).first;
  if (omega.imag() == 0) {
    if (g.real() < 0) return 1;
    return a * g.real() > 1 ? law.kappa0 : 0;
  }
  // int G0 domega = omega g - int omega(g) dg.
  const double phase = (omega * g).imag() + delta * delta * g.real() * g.imag() - std::arg(g) +
                       law.kappa0 * std::arg(1.0 - a * g);
  return std::clamp(phase / std::numbers::pi, 0.0, 1.0);
}

double upper_quantile(const WishartLaw& law, double delta, double fraction) {
  return continuous_upper_quantile(support(law, delta), fraction,
                                   [&](double x) { return mass_above(law, delta, x); });
}

std::vector<SpectralNode> nodes(const WishartLaw& law, double delta, std::span<const double> breakpoints) {
  return continuous_nodes(support(law, delta), breakpoints,
                          [&](double x) { return resolvent(law, inside_support(law, delta, x)).first; });
}

namespace {

double outer_edge_g(const WishartLaw& law, double delta, int sign) {
  const double a = jump(law);
  const auto slope = [&](double size) {
    const double ratio = a * size / (1 - sign * a * size);
    return 1 - (size * delta) * (size * delta) - law.kappa0 * ratio * ratio;
  };
  // Where either of the two subtracted terms alone is 1.
  double largest = 1 / delta;
  if (1 + sign * a > 0) largest = std::min(largest, 1 / (1 + sign * a));
  return sign * bracketed_root(slope, 0.0, largest);
}

std::optional<GapEdges> gap_edges(const WishartLaw& law, double delta) {
  if (law.kappa0 >= 1) return std::nullopt;
  const double a = jump(law);
  // y = a g - 1 > 0 between the pole of omega(g) and infinity; x'(g) is least where y/(1 + y) = kappa0^(1/3).
  const auto slope = [&](double y) {
    const double ratio = (1 + y) / y;
    const double spread = delta / a * (1 + y);
    return law.kappa0 * ratio * ratio + spread * spread - 1;
  };
  const double root = std::cbrt(law.kappa0);
  const double least = root / (1 - root);
  if (slope(least) >= 0) return std::nullopt;
  const double above = bracketed_root(slope, 1 / (a - 1), least);
  const double below = bracketed_root(slope, least, a / delta - 1);
  return GapEdges{(1 + below) / a, (1 + above) / a};
}

double beyond_outer_edge(const WishartLaw& law, double delta, double x, int sign) {
  const double edge = omega_of(law, outer_edge_g(law, delta, sign));
  double omega = x;
  for (int i = 0; i < 100; ++i) {
    const auto [g, slope] = resolvent(law, omega);
    const double excess = omega + delta * delta * g.real() - x;
    const double step = excess / (1 + delta * delta * slope.real());
    if (!(sign * step > kEpsilon * std::abs(omega))) break;
    omega -= step;
    if (sign * (omega - edge) <= 0) return edge;
  }
  return omega;
}

/// omega is the fixed point of T(omega) = x - delta^2 G0(omega), which maps the upper half plane into itself:
/// T brings omega nearer in the hyperbolic metric (Schwarz-Pick), Newton is taken where it shortens the
/// distance between omega and T(omega) by a fixed factor: where two edges are about to meet Newton is slow,
/// and T by itself slower still.
struct Iterate {
  Complex omega;
  Complex image;
  Complex slope;     ///< of omega - T(omega)
  double scale = 0;  ///< of the terms of the residual

  Iterate(const WishartLaw& law, double delta, double x, Complex at) : omega(at) {
    const auto [g, derivative] = resolvent(law, at);
    image = x - delta * delta * g;
    slope = 1.0 + delta * delta * derivative;
    scale = std::abs(x) + std::abs(at) + delta * delta * std::abs(g);
  }
  Complex residual() const { return omega - image; }
  double distance() const { return std::norm(residual()) / (omega.imag() * image.imag()); }
  /// Both parts of the equation hold to rounding; the imaginary one is v (1 - delta^2 a0) = 0.
  bool solved() const {
    return real_part_solved() && std::abs(residual().imag()) <= 4 * kEpsilon * omega.imag();
  }
  /// The same next to an edge, where v is so small that the rounding of u disturbs it or makes it vanish.
  bool nearly_solved() const {
    return real_part_solved() && (std::abs(residual().imag()) <= 1e-3 * omega.imag() ||
                                  omega.imag() <= kEpsilon * kEpsilon * scale);
  }

 private:
  bool real_part_solved() const { return std::abs(residual().real()) <= 2 * kEpsilon * scale; }
};

Complex inside_support(const WishartLaw& law, double delta, double x) {
  Iterate current(law, delta, x, {x, delta});
  for (int i = 0; i < kMaxIterations; ++i) {
    if (current.solved()) return current.omega;
    const Complex newton = current.omega - current.residual() / current.slope;
    if (newton.imag() > 0) {
      const Iterate next(law, delta, x, newton);
      if (next.distance() <= 0.75 * current.distance()) {
        current = next;
        continue;
      }
    }
    if (current.nearly_solved()) return current.omega;
    current = Iterate(law, delta, x, current.image);
  }
  throw Error("the subordination of a Wishart law at x = " + std::to_string(x) + " did not converge");
}

}  // namespace
}  // namespace qklab::spectra
