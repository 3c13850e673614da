#include "qklab/theory/fixed_point/student_spectrum.hpp"

#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>

namespace qklab::theory {
namespace {

FreeConvolution noisy_teacher(const StudentSpectrum& spectrum) {
  return FreeConvolution(spectrum.teacher, spectrum.delta);
}

bool is_tied(const StudentSpectrum& spectrum) {
  return spectrum.parametrization == Parametrization::tied;
}

bool is_direct(const StudentSpectrum& spectrum) {
  return spectrum.parametrization == Parametrization::direct;
}

/// int int K(x, y) mu(dx) mu(dy) over x on one contour and y on another, K(x, y) = w(x) v(y)/(x - y)^2 with w
/// given; each integral is the imaginary part of its own contour integral, and the product of two imaginary
/// parts is half the real part of a difference.
template <class Above, class Below>
double double_integral(const std::vector<ContourNode>& above, const Above& w,
                       const std::vector<ContourNode>& below, const Below& v) {
  double sum = 0;
  for (const ContourNode& x : above) {
    const std::complex<double> left = w(x.z) * x.g * x.dz;
    for (const ContourNode& y : below) {
      const std::complex<double> right = v(y.z) * y.g * y.dz;
      const std::complex<double> mirrored = x.z - std::conj(y.z);
      const std::complex<double> same_side = right / ((x.z - y.z) * (x.z - y.z));
      sum += (left * (std::conj(right) / (mirrored * mirrored) - same_side)).real();
    }
  }
  return sum / (2 * std::numbers::pi * std::numbers::pi);
}

/// True when the cut stands above the threshold at a point of positive density, so that f jumps there.
bool jumps(const StudentSpectrum& spectrum, const FreeConvolution& mu) {
  return spectrum.cut > spectrum.threshold && mu.density(spectrum.cut) > 0;
}

/// Two points with no mass between them, the cut itself where the density is positive. Contours that leave a
/// gap of the support from the same point would rise along the same line and meet.
Interval gap_around(double cut, const FreeConvolution& mu) {
  if (mu.density(cut) > 0) return {cut, cut};
  const Interval outer = mu.outer_edges();
  Interval gap{std::min(cut, outer.lo) - mu.delta(), std::max(cut, outer.hi) + mu.delta()};
  for (const Interval& interval : mu.support()) {
    if (interval.hi <= cut) gap.lo = interval.hi;
    if (interval.lo >= cut) gap.hi = std::min(gap.hi, interval.lo);
  }
  const double third = (gap.hi - gap.lo) / 3;
  return {gap.lo + third, gap.hi - third};
}

}  // namespace

double zero_fraction(const StudentSpectrum& spectrum) {
  if (spectrum.scale == 0) return 1;
  if (is_direct(spectrum)) return 0;
  const FreeConvolution mu = noisy_teacher(spectrum);
  const double positive = mu.mass_above(spectrum.cut);
  return is_tied(spectrum) ? 1 - positive : mu.mass_above(-spectrum.cut) - positive;
}

std::vector<Interval> student_edges(const StudentSpectrum& spectrum) {
  std::vector<Interval> edges;
  if (spectrum.scale == 0) return edges;
  const double b = spectrum.threshold;
  const auto add = [&](double lo, double hi, double shift) {
    if (lo < hi) edges.push_back({spectrum.scale * (lo + shift), spectrum.scale * (hi + shift)});
  };
  const std::vector<Interval> support = noisy_teacher(spectrum).support();
  if (is_direct(spectrum)) {
    for (const Interval& interval : support) add(interval.lo, interval.hi, 0);
    return edges;
  }
  if (!is_tied(spectrum)) {
    for (const Interval& interval : support) add(interval.lo, std::min(interval.hi, -b), b);
  }
  for (const Interval& interval : support) add(std::max(interval.lo, spectrum.cut), interval.hi, -b);
  return edges;
}

double student_density(const StudentSpectrum& spectrum, double s) {
  if (spectrum.scale == 0) return 0;
  const bool is_negative_branch = spectrum.parametrization == Parametrization::untied && s < 0;
  const double shift = is_direct(spectrum)  ? 0
                       : is_negative_branch ? -spectrum.threshold
                                            : spectrum.threshold;
  const double x = s / spectrum.scale + shift;
  if (is_tied(spectrum) && x <= spectrum.cut) return 0;
  return noisy_teacher(spectrum).density(x) / spectrum.scale;
}

double weight_density(const StudentSpectrum& spectrum, double w) {
  if (!(w > 0)) return 0;
  if (is_tied(spectrum)) return 2 * w * student_density(spectrum, w * w);
  return student_density(spectrum, w) + student_density(spectrum, -w);
}

double divided_difference_norm(const StudentSpectrum& spectrum) {
  if (spectrum.scale == 0) return 0;
  if (is_direct(spectrum)) return 1;
  const FreeConvolution mu = noisy_teacher(spectrum);
  const double b = spectrum.threshold;
  if (is_tied(spectrum) && jumps(spectrum, mu)) return std::numeric_limits<double>::infinity();
  // int int over x > cut, y < cut of ((x - b)/(x - y))^2, and the same at the lower threshold.
  using Complex = std::complex<double>;
  const auto one = [](Complex) { return Complex(1); };
  const auto squared_above = [b](Complex x) { return (x - b) * (x - b); };
  const Interval gap = gap_around(spectrum.cut, mu);
  const double kept = mu.mass_above(spectrum.cut);
  const double mixed =
      double_integral(mu.contour_above(gap.hi), squared_above, mu.contour_below(gap.lo), one);
  if (is_tied(spectrum)) return kept * kept + 2 * mixed;

  const auto squared_below = [b](Complex y) { return (y + b) * (y + b); };
  const Interval lower_gap = gap_around(-b, mu);
  const double lowest = 1 - mu.mass_above(-b);
  const double mixed_below =
      double_integral(mu.contour_above(lower_gap.hi), one, mu.contour_below(lower_gap.lo), squared_below);
  // Between the two branches: ((x - b) - (y + b))^2 instead of (x - b)^2 + (y + b)^2.
  const double between = double_integral(
      mu.contour_above(gap.hi), [b](Complex x) { return x - b; }, mu.contour_below(lower_gap.lo),
      [b](Complex y) { return y + b; });
  return kept * kept + lowest * lowest + 2 * (mixed + mixed_below) - 4 * between;
}

}  // namespace qklab::theory
