#include "normal_tail.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace qklab {
namespace {

constexpr double log_normalisation = 0.91893853320467274178;  // log(2 pi)/2
constexpr double lowest = -12;
constexpr double highest = 9;  // Phi = 1 to all digits
constexpr int cells_a_unit = 32;
constexpr double width = 1.0 / cells_a_unit;
constexpr int cells = static_cast<int>(highest - lowest) * cells_a_unit;

/// A function's value and its first two derivatives.
struct Jet {
  double value;
  double slope;
  double curvature;
};

/// log Phi and its derivatives: the hazard and what d hazard/dx = -hazard (x + hazard) gives.
struct Node {
  double log_mass;
  double hazard;
  double hazard_slope;
  double hazard_curvature;
};

Node node_at(double x) {
  const double mass = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  const double hazard = std::exp(-0.5 * x * x - log_normalisation) / mass;
  const double slope = -hazard * (x + hazard);
  return {std::log(mass), hazard, slope, -slope * (x + hazard) - hazard * (1 + slope)};
}

const std::array<Node, cells + 1>& table() {
  static const auto nodes = [] {
    std::array<Node, cells + 1> values{};
    for (int k = 0; k <= cells; ++k) values[k] = node_at(lowest + k * width);
    return values;
  }();
  return nodes;
}

/// The polynomial of degree five through two jets, at t in [0, 1] between them.
double between(const Jet& left, const Jet& right, double t) {
  const double a = left.value;
  const double b = left.slope * width;
  const double c = left.curvature * width * width / 2;
  const double rise = right.value - a - b - c;
  const double steep = right.slope * width - b - 2 * c;
  const double bend = right.curvature * width * width / 2 - c;
  const double third = 10 * rise - 4 * steep + bend;
  const double fourth = -15 * rise + 7 * steep - 2 * bend;
  const double fifth = 6 * rise - 3 * steep + bend;
  return a + t * (b + t * (c + t * (third + t * (fourth + t * fifth))));
}

}  // namespace

NormalTail normal_tail(double x) {
  if (x >= highest) return {0, 0};
  if (!(x > lowest)) {
    // Laplace's continued fraction of the Mills ratio; 12 terms leave 1e-15 from here on.
    double fraction = -x;
    for (int k = 12; k >= 1; --k) fraction = -x + k / fraction;
    return {-0.5 * x * x - log_normalisation - std::log(fraction), fraction};
  }
  const double place = (x - lowest) * cells_a_unit;
  const int cell = static_cast<int>(place);
  const double t = place - cell;
  const Node& left = table()[cell];
  const Node& right = table()[cell + 1];
  return {between({left.log_mass, left.hazard, left.hazard_slope},
                  {right.log_mass, right.hazard, right.hazard_slope}, t),
          between({left.hazard, left.hazard_slope, left.hazard_curvature},
                  {right.hazard, right.hazard_slope, right.hazard_curvature}, t)};
}

}  // namespace qklab
