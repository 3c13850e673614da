#include "panels.hpp"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/legendre.hpp>
#include <cmath>
#include <numbers>

#include "gauss_legendre.hpp"

namespace qklab::spectra {
namespace {

using Samples = std::vector<SpectralNode>;  // weights not yet multiplied by those of the rule

constexpr int kPanelNodes = 16;
constexpr std::array kWholeNodes = {8, 16, 32};

/// Last coefficients of a polynomial expansion, relative to the largest value, below which it has ended: the
/// Gauss rule then errs by about their square. One of them may vanish by accident, three do not.
constexpr double kTail = 3e-11;
constexpr int kTailLength = 3;

/// Tail beyond which halving once will not be enough.
constexpr double kHopeless = 1e-3;

/// Share of an interval's mass that is not worth splitting a panel for. Where two atoms have barely merged
/// the density nearly vanishes between them and carries more relative rounding than kTail.
constexpr double kNegligible = 1e-16;

/// rows[j][i]: coefficient of degree n - 1 - j is sum_i rows[j][i] f_i.
using TailRows = std::array<std::vector<double>, kTailLength>;

/// Largest tail of weight and Hilbert transform relative to the largest value of the weight and of |G|.
double tail(const Samples& samples, const TailRows& rows);

double largest_weight(const Samples& samples);

/// Gauss-Legendre panels of one interval.
struct Panels {
  const PanelPoint& point;
  std::vector<SpectralNode>& nodes;
  double interval_weight;  ///< size of the weight over the whole interval

  /// Appends one panel, or its parts where it is not resolved.
  void append(double lo, double hi);
};

Samples whole_samples(const PanelPoint& point, int count);

/// Appends one Gauss-Chebyshev rule for all of [0, pi] if few nodes resolve it; `samples` are the fewest.
bool append_whole(const PanelPoint& point, Samples samples, std::vector<SpectralNode>& nodes);

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

void append_interval(const PanelPoint& point, std::vector<double> angles, std::vector<SpectralNode>& nodes) {
  const Samples coarse = whole_samples(point, kWholeNodes.front());
  if (angles.empty() && append_whole(point, coarse, nodes)) return;
  Panels panels{point, nodes, std::numbers::pi * largest_weight(coarse)};
  angles.push_back(0);
  angles.push_back(std::numbers::pi);
  std::sort(angles.begin(), angles.end());
  for (size_t i = 1; i < angles.size(); ++i) {
    if (angles[i - 1] < angles[i]) panels.append(angles[i - 1], angles[i]);
  }
}

namespace {

/// Coefficients of cos(k theta) from the midpoints of n parts of [0, pi].
TailRows cosine_rows(int n) {
  TailRows rows;
  for (int j = 0; j < kTailLength; ++j) {
    for (int i = 0; i < n; ++i)
      rows[j].push_back(2.0 / n * std::cos((n - 1 - j) * (i + 0.5) * std::numbers::pi / n));
  }
  return rows;
}

/// Coefficients of P_k from the Gauss-Legendre nodes.
TailRows legendre_rows() {
  const GaussLegendreRule& rule = gauss_legendre(kPanelNodes);
  TailRows rows;
  for (int j = 0; j < kTailLength; ++j) {
    const int k = kPanelNodes - 1 - j;
    for (int i = 0; i < kPanelNodes; ++i) {
      rows[j].push_back((k + 0.5) * rule.weights[i] * boost::math::legendre_p(k, rule.nodes[i]));
    }
  }
  return rows;
}

void Panels::append(double lo, double hi) {
  static const TailRows rows = legendre_rows();
  const GaussLegendreRule& rule = gauss_legendre(kPanelNodes);
  Samples samples;
  samples.reserve(kPanelNodes);
  for (double node : rule.nodes) samples.push_back(point(lo + (hi - lo) * (1 + node) / 2));
  const double excess = tail(samples, rows);
  if (excess > kTail && excess * largest_weight(samples) * (hi - lo) > kNegligible * interval_weight) {
    const int parts = excess > kHopeless ? 4 : 2;
    for (int part = 0; part < parts; ++part) {
      append(lo + (hi - lo) * part / parts, lo + (hi - lo) * (part + 1) / parts);
    }
    return;
  }
  for (int i = 0; i < kPanelNodes; ++i) samples[i].weight *= rule.weights[i] * (hi - lo) / 2;
  nodes.insert(nodes.end(), samples.begin(), samples.end());
}

Samples whole_samples(const PanelPoint& point, int count) {
  Samples samples;
  samples.reserve(count);
  for (int i = 0; i < count; ++i) samples.push_back(point((i + 0.5) * std::numbers::pi / count));
  return samples;
}

bool append_whole(const PanelPoint& point, Samples samples, std::vector<SpectralNode>& nodes) {
  static const std::array rows = {cosine_rows(kWholeNodes[0]), cosine_rows(kWholeNodes[1]),
                                  cosine_rows(kWholeNodes[2])};
  for (size_t level = 0; level < kWholeNodes.size(); ++level) {
    const int count = kWholeNodes[level];
    if (level > 0) samples = whole_samples(point, count);
    if (tail(samples, rows[level]) > kTail) continue;
    for (SpectralNode& node : samples) node.weight *= std::numbers::pi / count;
    nodes.insert(nodes.end(), samples.begin(), samples.end());
    return true;
  }
  return false;
}

double tail(const Samples& samples, const TailRows& rows) {
  double resolvent = 0;
  for (const SpectralNode& node : samples)
    resolvent = std::max(resolvent, std::abs(node.hilbert) + node.density);
  double weight_tail = 0;
  double hilbert_tail = 0;
  for (const std::vector<double>& row : rows) {
    double weight = 0;
    double hilbert = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      weight += row[i] * samples[i].weight;
      hilbert += row[i] * samples[i].hilbert;
    }
    weight_tail = std::max(weight_tail, std::abs(weight));
    hilbert_tail = std::max(hilbert_tail, std::abs(hilbert));
  }
  return std::max(weight_tail / largest_weight(samples), hilbert_tail / resolvent);
}

double largest_weight(const Samples& samples) {
  double largest = 0;
  for (const SpectralNode& node : samples) largest = std::max(largest, std::abs(node.weight));
  return largest;
}

}  // namespace
}  // namespace qklab::spectra
