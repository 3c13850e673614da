#include "panels.hpp"

#include <algorithm>
#include <boost/math/special_functions/legendre.hpp>
#include <cmath>
#include <numbers>
#include <span>

#include "gauss_legendre.hpp"

namespace qklab::spectra {
namespace {

constexpr int kPanelNodes = 16;

/// Tail of the Legendre series, relative to the largest value, below which a panel is resolved: the Gauss
/// rule then errs by about its square.
constexpr double kTail = 1e-8;

/// Panels narrower than this are not halved again.
constexpr double kNarrowest = 1e-12;

/// One panel: nodes with weights not yet multiplied by the quadrature weights.
std::vector<SpectralNode> sample(const PanelPoint& point, double lo, double hi);

/// Whether the Legendre series of `member` has ended, on the scale of `scale` (the largest value of a
/// member).
bool resolved(std::span<const SpectralNode> panel, double SpectralNode::*member, double scale);

double largest(std::span<const SpectralNode> panel, double SpectralNode::*member);

void append_panel(const PanelPoint& point, double lo, double hi, std::vector<SpectralNode>& nodes) {
  std::vector<SpectralNode> panel = sample(point, lo, hi);
  const double resolvent = largest(panel, &SpectralNode::hilbert) + largest(panel, &SpectralNode::density);
  const bool fine = resolved(panel, &SpectralNode::weight, largest(panel, &SpectralNode::weight)) &&
                    resolved(panel, &SpectralNode::hilbert, resolvent);
  if (!fine && hi - lo > kNarrowest) {
    const double middle = (lo + hi) / 2;
    append_panel(point, lo, middle, nodes);
    append_panel(point, middle, hi, nodes);
    return;
  }
  const GaussLegendreRule& rule = gauss_legendre(kPanelNodes);
  for (int i = 0; i < kPanelNodes; ++i) panel[i].weight *= rule.weights[i] * (hi - lo) / 2;
  nodes.insert(nodes.end(), panel.begin(), panel.end());
}

std::vector<SpectralNode> sample(const PanelPoint& point, double lo, double hi) {
  std::vector<SpectralNode> panel;
  panel.reserve(kPanelNodes);
  for (double node : gauss_legendre(kPanelNodes).nodes)
    panel.push_back(point(lo + (hi - lo) * (1 + node) / 2));
  return panel;
}

/// Row of Legendre-coefficient weights: coefficient_k = sum_i row_i f(node_i).
std::vector<double> coefficient_row(int k) {
  const GaussLegendreRule& rule = gauss_legendre(kPanelNodes);
  std::vector<double> row;
  for (int i = 0; i < kPanelNodes; ++i) {
    row.push_back((k + 0.5) * rule.weights[i] * boost::math::legendre_p(k, rule.nodes[i]));
  }
  return row;
}

bool resolved(std::span<const SpectralNode> panel, double SpectralNode::*member, double scale) {
  static const std::vector<double> last = coefficient_row(kPanelNodes - 1);
  static const std::vector<double> last_but_one = coefficient_row(kPanelNodes - 2);
  double tail = 0;
  double tail_but_one = 0;
  for (size_t i = 0; i < panel.size(); ++i) {
    const double value = panel[i].*member;
    tail += last[i] * value;
    tail_but_one += last_but_one[i] * value;
  }
  return std::abs(tail) + std::abs(tail_but_one) <= kTail * scale;
}

double largest(std::span<const SpectralNode> panel, double SpectralNode::*member) {
  double size = 0;
  for (const SpectralNode& node : panel) size = std::max(size, std::abs(node.*member));
  return size;
}

}  // namespace

double distance_from_low_edge(double width, double theta) {
  const double sine = std::sin(theta / 2);
  return width * sine * sine;
}

double distance_from_high_edge(double width, double theta) {
  const double cosine = std::cos(theta / 2);
  return width * cosine * cosine;
}

double edge_angle(double distance, double width) {
  return 2 * std::asin(std::sqrt(std::clamp(distance / width, 0.0, 1.0)));
}

void append_panels(const PanelPoint& point, std::vector<double> angles, std::vector<SpectralNode>& nodes) {
  angles.push_back(0);
  angles.push_back(std::numbers::pi);
  std::sort(angles.begin(), angles.end());
  for (size_t i = 1; i < angles.size(); ++i) {
    if (angles[i - 1] < angles[i]) append_panel(point, angles[i - 1], angles[i], nodes);
  }
}

}  // namespace qklab::spectra
