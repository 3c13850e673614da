#include "qklab/experiment/comparison/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qklab::experiment {
namespace {

/// `count` points from lo to hi, both included, at equal angles on a half circle.
std::vector<double> half_circle_points(const Interval& interval, int count) {
  std::vector<double> x(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double share = 0.5 * (1 - std::cos(std::numbers::pi * i / (count - 1)));
    x[i] = interval.lo + share * (interval.hi - interval.lo);
  }
  x.back() = interval.hi;
  return x;
}

/// A point of the interval next to x, so that a density that jumps at an edge shows its inner value there.
double just_inside(double x, const Interval& interval) {
  const double margin = 1e-9 * (interval.hi - interval.lo);
  return std::clamp(x, interval.lo + margin, interval.hi - margin);
}

template <class Density>
DensityCurve curve(const std::vector<Interval>& intervals, int points, const Density& density) {
  double length = 0;
  for (const Interval& interval : intervals) length += interval.hi - interval.lo;
  DensityCurve curve;
  for (const Interval& interval : intervals) {
    const int count =
        std::max(9, static_cast<int>(std::lround(points * (interval.hi - interval.lo) / length)));
    for (double x : half_circle_points(interval, count)) {
      curve.x.push_back(x);
      curve.p.push_back(density(just_inside(x, interval)));
    }
  }
  return curve;
}

/// Intervals that hold the non-zero singular values of W (tied) or of S, ascending and disjoint.
std::vector<Interval> singular_value_edges(const theory::StudentSpectrum& spectrum) {
  std::vector<Interval> edges = student_edges(spectrum);
  if (spectrum.parametrization == Parametrization::tied) {
    for (Interval& edge : edges) edge = {std::sqrt(edge.lo), std::sqrt(edge.hi)};
    return edges;
  }
  for (Interval& edge : edges) {
    if (edge.hi <= 0) edge = {-edge.hi, -edge.lo};
    if (edge.lo < 0) edge = {0, std::max(-edge.lo, edge.hi)};
  }
  std::ranges::sort(edges, {}, &Interval::lo);
  std::vector<Interval> merged;
  for (const Interval& edge : edges) {
    if (!merged.empty() && edge.lo <= merged.back().hi) {
      merged.back().hi = std::max(merged.back().hi, edge.hi);
    } else {
      merged.push_back(edge);
    }
  }
  return merged;
}

double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

int bin_count(const std::vector<double>& sorted) {
  const double spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  const double width = spread / std::cbrt(static_cast<double>(sorted.size()));
  const double range = sorted.back() - std::min(0.0, sorted.front());
  return width > 0 ? static_cast<int>(std::clamp(std::ceil(range / width), 10.0, 80.0)) : 10;
}

}  // namespace

DensityCurve eigenvalue_density(const theory::StudentSpectrum& spectrum, int points) {
  return curve(student_edges(spectrum), points, [&](double s) { return student_density(spectrum, s); });
}

DensityCurve singular_value_density(const theory::StudentSpectrum& spectrum, int points) {
  return curve(singular_value_edges(spectrum), points, [&](double w) { return weight_density(spectrum, w); });
}

Histogram histogram(std::vector<double> eigenvalues) {
  const auto total = static_cast<double>(eigenvalues.size());
  double largest = 0;
  for (double s : eigenvalues) largest = std::max(largest, std::abs(s));
  std::erase_if(eigenvalues, [&](double s) { return std::abs(s) <= zero_below * largest; });
  if (eigenvalues.empty()) return {};
  std::ranges::sort(eigenvalues);

  const int bins = bin_count(eigenvalues);
  const double low = std::min(0.0, eigenvalues.front());
  const double width = (eigenvalues.back() - low) / bins;
  Histogram bars{{}, std::vector<double>(static_cast<std::size_t>(bins), 0.0)};
  for (int i = 0; i <= bins; ++i) bars.bin_edges.push_back(low + i * width);
  for (double s : eigenvalues) {
    const int bin = std::min(bins - 1, static_cast<int>((s - low) / width));
    bars.p[bin] += 1 / (total * width);
  }
  return bars;
}

}  // namespace qklab::experiment
