#include "contour.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gauss_legendre.hpp"

namespace qklab::spectra {
namespace {

using Complex = std::complex<double>;

/// A Gauss rule of N nodes errs by rho^(-2N): 2N log(rho) = 52 is exp(-52) = 3e-23, which leaves room for
/// functions that grow towards the cut.
constexpr double kHalfDecay = 26;

constexpr int kRiseNodes = 16;

/// Straight up from `start` to `height` above the axis.
void append_rise(Complex start, double height, std::vector<PathNode>& path);

/// Along the circle around `top` from `start` clockwise to the real axis.
void append_arc(Complex start, double top, std::vector<PathNode>& path);

Complex on_arc(double sigma) {
  return {1 / std::cosh(sigma), std::tanh(sigma)};
}

}  // namespace

std::vector<PathNode> path_over(Complex start, double top, double clearance) {
  std::vector<PathNode> path;
  const double height = start.real() < top ? std::max(start.imag(), clearance) : start.imag();
  if (height > start.imag()) append_rise(start, height, path);
  append_arc({start.real(), height}, top, path);
  return path;
}

namespace {

void append_rise(Complex start, double height, std::vector<PathNode>& path) {
  const GaussLegendreRule& rule = gauss_legendre(kRiseNodes);
  const double half = (height - start.imag()) / 2;
  for (size_t i = 0; i < rule.nodes.size(); ++i) {
    path.push_back({start + Complex(0, half * (1 + rule.nodes[i])), {0, half * rule.weights[i]}});
  }
}

void append_arc(Complex start, double top, std::vector<PathNode>& path) {
  // omega = top + eta^2 opens the plane cut below `top` to the half plane Re eta > 0. On the arc
  // eta = sqrt(R) (sech sigma + i tanh sigma), and everything within |Im sigma| < pi/2 is the half plane: a
  // function of sigma is analytic in that strip, however near the cut the arc begins. The mirror image below
  // the axis makes the interval [-sigma0, sigma0] symmetric, and half of its nodes suffice.
  const double radius = std::abs(start - top);
  const double angle = std::atan2(start.imag(), start.real() - top) / 2;
  const double sigma0 = std::asinh(std::tan(angle));
  const Complex eta0 = on_arc(sigma0);
  const double decay = std::asinh(std::numbers::pi / 2 / sigma0);
  const GaussLegendreRule& rule = gauss_legendre(kHalfDecay / decay);
  for (size_t i = rule.nodes.size() - 1; i >= rule.nodes.size() / 2; --i) {
    const double sigma = sigma0 * rule.nodes[i];
    const Complex eta = on_arc(sigma);
    // eta^2 - eta0^2 without cancellation, for the atoms close to the start.
    const double sine = std::sinh(sigma0 * (rule.nodes[i] - 1) / 2);
    const Complex difference = 2 * sine * eta.real() * eta0.real() *
                               Complex(-std::sinh((sigma + sigma0) / 2), std::sqrt(1 + sine * sine));
    path.push_back({start + radius * difference * (eta + eta0),
                    Complex(0, -2 * radius * sigma0 * rule.weights[i] * eta.real()) * eta * eta});
  }
}

}  // namespace
}  // namespace qklab::spectra
