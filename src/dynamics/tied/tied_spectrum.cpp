#include "qklab/dynamics/tied/tied_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <string>

#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

using Complex = std::complex<double>;

/// kappa(z)/kappa, by Newton's steps from a value near it.
std::optional<Complex> relative_capacity(const TiedStudent& student, Complex z, Complex near);
Complex stieltjes(const TiedStudent& student, Complex z, Complex relative);

}  // namespace

std::vector<double> tied_spectrum(const TiedStudent& student, const std::vector<double>& points,
                                  double smoothing) {
  if (!(smoothing >= 0 && std::isfinite(smoothing)))
    throw InvalidParameter("smoothing", smoothing, "must be >= 0 and finite");
  constexpr double smallest_part = 1e-7;
  std::vector<double> density;
  for (const double x : points) {
    if (!(x > 0 && std::isfinite(x))) throw InvalidParameter("point", x, "must be > 0 and finite");
    // Down to the real axis from far above, where kappa(z) is kappa.
    double height = 1e3 * std::max(x, student.profile.maxCoeff());
    const double end = std::max(smoothing, smallest_part * std::max(x, student.profile.maxCoeff()));
    Complex relative = 1;
    double factor = 0.5;
    while (height > end) {
      const double next = std::max(end, height * factor);
      const std::optional<Complex> found = relative_capacity(student, {x, next}, relative);
      if (found) {
        relative = *found;
        height = next;
        factor = std::max(0.25, factor * factor);
      } else {
        factor = std::sqrt(factor);
        if (factor > 1 - 1e-6)
          throw Error("spectrum of a tied student: no solution near x = " + std::to_string(x));
      }
    }
    density.push_back(std::max(0.0, -stieltjes(student, {x, end}, relative).imag() / std::numbers::pi));
  }
  return density;
}

namespace {

std::optional<Complex> relative_capacity(const TiedStudent& student, Complex z, Complex near) {
  constexpr int most = 30;
  constexpr double longest = 0.5;
  constexpr double digits = 1e-10;
  const double full = student.entry_variance * student.width_ratio;
  const Eigen::ArrayXcd load = student.growth.cast<Complex>() * (student.restraint.cast<Complex>() - 1.0 / z);
  Complex k = near;
  for (int step = 0; step < most; ++step) {
    const Eigen::ArrayXcd inverse = (1.0 + k * load).inverse();
    const Complex value = student.capacity * k - full +
                          student.entry_variance * (student.masses.cast<Complex>() * (1.0 - inverse)).sum();
    const Complex slope =
        student.capacity +
        student.entry_variance * (student.masses.cast<Complex>() * load * inverse.square()).sum();
    const Complex change = value / slope;
    if (!std::isfinite(std::abs(change)) || std::abs(change) > longest * std::abs(near)) return std::nullopt;
    k -= change;
    // Above the real axis the wanted root, a trace of a resolvent, lies below it.
    if (std::abs(change) <= digits * std::abs(k)) return k.imag() < 0 ? std::optional(k) : std::nullopt;
  }
  return std::nullopt;
}

Complex stieltjes(const TiedStudent& student, Complex z, Complex relative) {
  const Eigen::ArrayXcd growth = relative * student.growth.cast<Complex>();
  const Eigen::ArrayXcd profile = growth / (1.0 + growth * (student.restraint.cast<Complex>() - 1.0 / z));
  return 1.0 / z + (student.masses.cast<Complex>() * profile).sum() / (z * z);
}

}  // namespace
}  // namespace qklab::dynamics
