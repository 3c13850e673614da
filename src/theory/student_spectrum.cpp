#include "qklab/theory/student_spectrum.hpp"

#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>

namespace qklab::theory {
namespace {

FreeConvolution noisy_teacher(const StudentSpectrum& spectrum) {
  return FreeConvolution(spectrum.teacher, spectrum.delta);
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
  if (!spectrum.positive) return 0;
  return 1 - noisy_teacher(spectrum).mass_above(spectrum.cut);
}

std::vector<Interval> student_edges(const StudentSpectrum& spectrum) {
  std::vector<Interval> edges;
  if (spectrum.scale == 0) return edges;
  for (const Interval& interval : noisy_teacher(spectrum).support()) {
    const double lo = spectrum.positive ? std::max(interval.lo, spectrum.cut) : interval.lo;
    if (lo < interval.hi) {
      edges.push_back(
          {spectrum.scale * (lo - spectrum.threshold), spectrum.scale * (interval.hi - spectrum.threshold)});
    }
  }
  return edges;
}

double student_density(const StudentSpectrum& spectrum, double s) {
  if (spectrum.scale == 0) return 0;
  const double x = s / spectrum.scale + spectrum.threshold;
  if (spectrum.positive && x <= spectrum.cut) return 0;
  return noisy_teacher(spectrum).density(x) / spectrum.scale;
}

double weight_density(const StudentSpectrum& spectrum, double w) {
  return w > 0 ? 2 * w * student_density(spectrum, w * w) : 0;
}

double divided_difference_norm(const StudentSpectrum& spectrum) {
  if (spectrum.scale == 0) return 0;
  if (!spectrum.positive) return 1;
  const FreeConvolution mu = noisy_teacher(spectrum);
  if (jumps(spectrum, mu)) return std::numeric_limits<double>::infinity();
  // int over x > cut and y < cut of ((x - b)/(x - y))^2 = (1/pi^2) Im_x Im_y, each along its own contour; the
  // product of two imaginary parts is half the real part of a difference.
  double mixed = 0;
  const Interval gap = gap_around(spectrum.cut, mu);
  const std::vector<ContourNode> below = mu.contour_below(gap.lo);
  for (const ContourNode& x : mu.contour_above(gap.hi)) {
    const std::complex<double> f = x.z - spectrum.threshold;
    const std::complex<double> weight = f * f * x.g * x.dz;
    for (const ContourNode& y : below) {
      const std::complex<double> same_side = y.g * y.dz / ((x.z - y.z) * (x.z - y.z));
      const std::complex<double> mirrored = x.z - std::conj(y.z);
      const std::complex<double> other_side = std::conj(y.g * y.dz) / (mirrored * mirrored);
      mixed += (weight * (other_side - same_side)).real();
    }
  }
  mixed /= 2 * std::numbers::pi * std::numbers::pi;
  const double kept = mu.mass_above(spectrum.cut);
  return kept * kept + 2 * mixed;
}

}  // namespace qklab::theory
