#include "discrete.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "continuous_support.hpp"
#include "qklab/core/error.hpp"
#include "root.hpp"

namespace qklab::spectra {
namespace {

using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// Newton has arrived where |delta^2 a0 - 1| is below this.
constexpr double kResidual = 8 * kEpsilon;

size_t nearest_atom(const DiscreteLaw& law, double u);

/// A point of the curve and where it lies: u = locations[atom] + offset.
struct LocatedPoint {
  size_t atom = 0;
  double offset = 0;
  CurvePoint curve;
};

/// The point of the curve that maps to x.
LocatedPoint locate(const DiscreteLaw& law, double delta, double x);

/// (1/pi) Im of int G0 domega + delta^2 G0^2/2 at a point of the curve.
double mass_above_point(const DiscreteLaw& law, double u, const CurvePoint& point);

}  // namespace

void check(const DiscreteLaw& law) {
  if (law.locations.empty() || law.locations.size() != law.masses.size()) {
    throw InvalidParameter("atoms", std::to_string(law.locations.size()),
                           "a discrete law needs at least one atom and one mass for each");
  }
  for (size_t i = 0; i < law.locations.size(); ++i) {
    if (!std::isfinite(law.locations[i])) {
      throw InvalidParameter("location", law.locations[i], "atoms must be finite");
    }
    if (i > 0 && !(law.locations[i - 1] < law.locations[i])) {
      throw InvalidParameter("location", law.locations[i], "atoms must ascend strictly");
    }
    if (!(law.masses[i] > 0)) throw InvalidParameter("mass", law.masses[i], "masses must be > 0");
  }
  const double total = moment(law, 0);
  if (!(std::abs(total - 1) < 1e-9)) throw InvalidParameter("total mass", total, "masses must sum to 1");
}

std::pair<Complex, Complex> resolvent(const DiscreteLaw& law, Complex z) {
  const double v = z.imag();
  const AtomSums sums = sum_atoms(law, z.real(), 0, v * v);
  return {{sums.a1, -v * sums.a0}, {2 * v * v * sums.b0 - sums.a0, 2 * v * sums.b1}};
}

double moment(const DiscreteLaw& law, int k) {
  double sum = 0;
  for (size_t i = 0; i < law.locations.size(); ++i) {
    double term = law.masses[i];
    for (int power = 0; power < k; ++power) term *= law.locations[i];
    sum += term;
  }
  return sum;
}

Interval hull(const DiscreteLaw& law) {
  return {law.locations.front(), law.locations.back()};
}

double distance_to_support(const DiscreteLaw& law, double u) {
  return std::abs(u - law.locations[nearest_atom(law, u)]);
}

Complex subordination(const DiscreteLaw& law, double delta, double x) {
  const LocatedPoint point = locate(law, delta, x);
  return {law.locations[point.atom] + point.offset, std::sqrt(point.curve.height_squared)};
}

double mass_above(const DiscreteLaw& law, double delta, double x) {
  const LocatedPoint point = locate(law, delta, x);
  return mass_above_point(law, law.locations[point.atom] + point.offset, point.curve);
}

double upper_quantile(const DiscreteLaw& law, double delta, double fraction) {
  // The atom that holds the quantile of the law itself, and the mass from it upwards.
  size_t atom = law.locations.size() - 1;
  double above = law.masses[atom];
  while (atom > 0 && above < fraction - kMassRounding) above += law.masses[--atom];
  if (atom > 0 && above <= fraction + kMassRounding) {
    if (const std::optional<Gap> gap = gap_after(law, delta, atom - 1)) {
      return (real_x(law, delta, atom - 1, gap->above_left) + real_x(law, delta, atom, gap->below_right)) / 2;
    }
  }
  double guess = 0;
  const auto excess = [&](double u) {
    const CurvePoint point = curve_point(law, delta, u, 0, guess);
    guess = point.height_squared;
    return mass_above_point(law, u, point) - fraction;
  };
  // Noise of norm 2 delta moves an eigenvalue by at most 2 delta (Weyl), and |x - u| <= delta.
  const double u = bracketed_root(excess, law.locations[atom > 0 ? atom - 1 : 0] - 3 * delta,
                                  law.locations[atom] + 3 * delta);
  return u + delta * delta * curve_point(law, delta, u, 0, guess).sums.a1;
}

CurvePoint curve_point(const DiscreteLaw& law, double delta, double reference, double offset, double guess) {
  // 1/a0 is a harmonic mean of r^2 + W: concave and increasing in W. Newton on 1/a0 = delta^2 therefore
  // climbs monotonically to the root from the left, and falls to the left of it in one step from the right.
  const size_t atom = nearest_atom(law, reference + offset);
  const double r = (reference - law.locations[atom]) + offset;
  const double least = std::max(0.0, delta * delta * law.masses[atom] - r * r);
  CurvePoint point{std::max(guess, least), {}};
  for (int i = 0; i < 100; ++i) {
    point.sums = sum_atoms(law, reference, offset, point.height_squared);
    const double excess = delta * delta * point.sums.a0 - 1;
    if (std::abs(excess) <= kResidual) break;
    const double next = std::max(point.height_squared + excess * point.sums.a0 / point.sums.b0, least);
    if (next == point.height_squared) break;
    point.height_squared = next;
  }
  return point;
}

double curve_slope(const CurvePoint& point, double delta) {
  const AtomSums& sums = point.sums;
  if (point.height_squared == 0) return 1 - delta * delta * sums.a0;
  return 2 * delta * delta * (point.height_squared * sums.b0 + sums.b1 * (sums.b1 / sums.b0));
}

double real_x(const DiscreteLaw& law, double delta, size_t atom, double offset) {
  const double s = law.locations[atom];
  return s + (offset + delta * delta * sum_atoms(law, s, offset, 0).a1);
}

namespace {

size_t nearest_atom(const DiscreteLaw& law, double u) {
  const std::vector<double>& s = law.locations;
  const size_t above = std::lower_bound(s.begin(), s.end(), u) - s.begin();
  if (above == 0) return 0;
  if (above == s.size()) return above - 1;
  return u - s[above - 1] < s[above] - u ? above - 1 : above;
}

LocatedPoint locate(const DiscreteLaw& law, double delta, double x) {
  const size_t atom = nearest_atom(law, x);
  const double s = law.locations[atom];
  const double target = x - s;
  // |x - u| = delta^2 |H| <= delta, and x(u) increases: Newton in u, halving where it leaves the bracket.
  double lo = target - delta;
  double hi = target + delta;
  LocatedPoint point{atom, target, {}};
  for (int i = 0; i < 200; ++i) {
    point.curve = curve_point(law, delta, s, point.offset, point.curve.height_squared);
    const double excess = (point.offset - target) + delta * delta * point.curve.sums.a1;
    (excess > 0 ? hi : lo) = point.offset;
    double next = point.offset - excess / curve_slope(point.curve, delta);
    if (!(lo < next && next < hi)) next = lo + (hi - lo) / 2;
    const double change = std::abs(next - point.offset);
    if (excess == 0 || change <= 2 * kEpsilon * std::abs(next) || hi - lo <= kEpsilon * std::abs(s)) break;
    point.offset = next;
  }
  return point;
}

double mass_above_point(const DiscreteLaw& law, double u, const CurvePoint& point) {
  const double v = std::sqrt(point.height_squared);
  double angle = 0;
  for (size_t i = 0; i < law.locations.size(); ++i) {
    angle += law.masses[i] * std::atan2(v, u - law.locations[i]);
  }
  return std::clamp((angle - v * point.sums.a1) / std::numbers::pi, 0.0, 1.0);
}

}  // namespace
}  // namespace qklab::spectra
