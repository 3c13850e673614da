#include "qklab/spectra/free_convolution.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "contour.hpp"
#include "discrete.hpp"
#include "qklab/core/error.hpp"
#include "semicircle.hpp"
#include "wishart.hpp"

namespace qklab {
namespace {

using Complex = std::complex<double>;

double not_nan(const char* name, double value) {
  if (std::isnan(value)) throw InvalidParameter(name, value, "must be a number");
  return value;
}

/// x where it lies within reach of the support [lo - 2 delta, hi + 2 delta], else a point just outside:
/// nothing changes beyond.
double within_reach(const Law& law, double delta, double x) {
  const Interval span = hull(law);
  const double margin = (span.hi - span.lo) + 3 * delta;
  return std::clamp(x, span.lo - margin, span.hi + margin);
}

double clearance(const Law& law, Complex start) {
  return std::visit([&](const auto& known) { return spectra::distance_to_support(known, start.real()); },
                    law);
}

std::vector<ContourNode> contour_along(const Law& law, double delta,
                                       const std::vector<spectra::PathNode>& path) {
  std::vector<ContourNode> contour;
  contour.reserve(path.size());
  for (const auto& [omega, domega] : path) {
    const auto [g, slope] = stieltjes_and_derivative(law, omega);
    contour.push_back({omega + delta * delta * g, g, (1.0 + delta * delta * slope) * domega});
  }
  return contour;
}

}  // namespace

FreeConvolution::FreeConvolution(Law law, double delta) : law_(std::move(law)), delta_(delta) {
  if (!(delta > 0) || !std::isfinite(delta)) {
    throw InvalidParameter("delta", delta, "the size of the semicircle must be > 0 and finite");
  }
  std::visit([](const auto& known) { spectra::check(known); }, law_);
}

std::vector<Interval> FreeConvolution::support() const {
  return std::visit([this](const auto& known) { return spectra::support(known, delta_); }, law_);
}

Interval FreeConvolution::outer_edges() const {
  return std::visit([this](const auto& known) { return spectra::outer_edges(known, delta_); }, law_);
}

Complex FreeConvolution::subordination(double x) const {
  if (!std::isfinite(x)) throw InvalidParameter("x", x, "must be finite");
  return std::visit([&](const auto& known) { return Complex(spectra::subordination(known, delta_, x)); },
                    law_);
}

double FreeConvolution::density(double x) const {
  return subordination(x).imag() / (std::numbers::pi * delta_ * delta_);
}

double FreeConvolution::hilbert(double x) const {
  return stieltjes(law_, subordination(x)).real();
}

double FreeConvolution::mass_above(double x) const {
  const double near = within_reach(law_, delta_, not_nan("x", x));
  return std::visit([&](const auto& known) { return spectra::mass_above(known, delta_, near); }, law_);
}

double FreeConvolution::upper_quantile(double fraction) const {
  if (!(fraction > 0 && fraction < 1)) {
    throw InvalidParameter("fraction", fraction, "the mass above a quantile must lie between 0 and 1");
  }
  return std::visit([&](const auto& known) { return spectra::upper_quantile(known, delta_, fraction); },
                    law_);
}

std::vector<ContourNode> FreeConvolution::contour_above(double cut) const {
  const Complex start = subordination(within_reach(law_, delta_, not_nan("cut", cut)));
  const double top = hull(law_).hi;
  if (start.imag() == 0 && start.real() > top) return {};
  return contour_along(law_, delta_, spectra::path_over(start, top, clearance(law_, start)));
}

std::vector<ContourNode> FreeConvolution::contour_below(double cut) const {
  const Complex start = subordination(within_reach(law_, delta_, not_nan("cut", cut)));
  const double bottom = hull(law_).lo;
  if (start.imag() == 0 && start.real() < bottom) return {};
  // The mirror image u -> -u of a path over the top, run through from its end to the cut.
  std::vector<spectra::PathNode> path =
      spectra::path_over({-start.real(), start.imag()}, -bottom, clearance(law_, start));
  for (spectra::PathNode& node : path) node = {-std::conj(node.omega), std::conj(node.domega)};
  return contour_along(law_, delta_, path);
}

std::vector<SpectralNode> FreeConvolution::nodes(std::span<const double> breakpoints) const {
  for (double x : breakpoints) {
    if (!std::isfinite(x)) throw InvalidParameter("breakpoint", x, "must be finite");
  }
  return std::visit([&](const auto& known) { return spectra::nodes(known, delta_, breakpoints); }, law_);
}

double FreeConvolution::integrate(const std::function<double(double)>& f,
                                  std::span<const double> breakpoints) const {
  double sum = 0;
  for (const SpectralNode& node : nodes(breakpoints)) sum += node.weight * f(node.x);
  return sum;
}

}  // namespace qklab
