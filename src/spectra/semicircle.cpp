#include "semicircle.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "complex_root.hpp"
#include "continuous_support.hpp"
#include "qklab/core/error.hpp"

namespace qklab::spectra {
namespace {

double edge(const SemicircleLaw& law, double delta) {
  return std::hypot(law.radius, 2 * delta);
}

}  // namespace

void check(const SemicircleLaw& law) {
  if (!(law.radius > 0) || !std::isfinite(law.radius)) {
    throw InvalidParameter("radius", law.radius, "the radius of a semicircle must be > 0 and finite");
  }
}

std::pair<std::complex<double>, std::complex<double>> resolvent(const SemicircleLaw& law,
                                                                std::complex<double> z) {
  const std::complex<double> root = edge_root(-law.radius, law.radius, z);
  const std::complex<double> g = 2.0 * reciprocal(z + root);
  return {g, -g * reciprocal(root)};
}

double moment(const SemicircleLaw& law, int k) {
  if (k == 0) return 1;
  return k == 1 ? 0 : law.radius * law.radius / 4;
}

Interval hull(const SemicircleLaw& law) {
  return {-law.radius, law.radius};
}

double distance_to_support(const SemicircleLaw& law, double u) {
  return std::max(0.0, std::abs(u) - law.radius);
}

std::vector<Interval> support(const SemicircleLaw& law, double delta) {
  return {outer_edges(law, delta)};
}

Interval outer_edges(const SemicircleLaw& law, double delta) {
  return {-edge(law, delta), edge(law, delta)};
}

std::complex<double> subordination(const SemicircleLaw& law, double delta, double x) {
  const double share = 2 * (delta / edge(law, delta)) * (delta / edge(law, delta));
  const double inside = (edge(law, delta) - x) * (edge(law, delta) + x);
  if (inside > 0) return {x * (1 - share), share * std::sqrt(inside)};
  return x * (1 - share) + std::copysign(share * std::sqrt(-inside), x);
}

double mass_above(const SemicircleLaw& law, double delta, double x) {
  const double cosine = std::clamp(x / edge(law, delta), -1.0, 1.0);
  return (std::acos(cosine) - cosine * std::sqrt((1 - cosine) * (1 + cosine))) / std::numbers::pi;
}

double upper_quantile(const SemicircleLaw& law, double delta, double fraction) {
  return continuous_upper_quantile(support(law, delta), fraction,
                                   [&](double x) { return mass_above(law, delta, x); });
}

std::vector<SpectralNode> nodes(const SemicircleLaw& law, double delta, std::span<const double> breakpoints) {
  return continuous_nodes(support(law, delta), breakpoints, [&](double x) {
    return 2.0 * reciprocal(x + edge_root(-edge(law, delta), edge(law, delta), x));
  });
}

}  // namespace qklab::spectra
