#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>

#include "discrete.hpp"
#include "panels.hpp"

namespace qklab::spectra {
namespace {

/// Distance in u from an atom to the edge of the support on its side `direction` (-1 below, +1 above). Needs
/// an edge before the next atom.
double edge_distance(const DiscreteLaw& law, double delta, size_t atom, int direction);

/// The part of Biane's curve over one cluster. It remembers the points it has been asked for: between two of
/// them v^2 is close to the cubic through both, where Newton starts.
class CurveOverCluster {
 public:
  CurveOverCluster(const DiscreteLaw& law, double delta, const Cluster& cluster);

  double width() const { return width_; }
  SpectralNode node(double theta);

 private:
  struct Known {
    double height_squared = 0;
    double slope = 0;  ///< d(v^2)/du = -2 b1/b0
  };
  double guess(double distance) const;

  const DiscreteLaw& law_;
  double delta_;
  Cluster cluster_;
  double first_;
  double last_;
  double width_;
  std::map<double, Known> known_;  ///< by distance from the low edge
};

/// Whether int law(ds)/(u - s)^2 < 1/delta^2 somewhere between the atoms `left` and `left + 1`.
bool has_gap(const DiscreteLaw& law, double delta, size_t left);

double low_x(const DiscreteLaw& law, double delta, const Cluster& cluster) {
  return real_x(law, delta, cluster.first, cluster.low_offset);
}

double high_x(const DiscreteLaw& law, double delta, const Cluster& cluster) {
  return real_x(law, delta, cluster.last, cluster.high_offset);
}

}  // namespace

std::vector<Interval> support(const DiscreteLaw& law, double delta) {
  std::vector<Interval> intervals;
  for (const Cluster& cluster : clusters(law, delta)) {
    intervals.push_back({low_x(law, delta, cluster), high_x(law, delta, cluster)});
  }
  return intervals;
}

Interval outer_edges(const DiscreteLaw& law, double delta) {
  const size_t top = law.locations.size() - 1;
  return {real_x(law, delta, 0, -edge_distance(law, delta, 0, -1)),
          real_x(law, delta, top, edge_distance(law, delta, top, +1))};
}

std::vector<Cluster> clusters(const DiscreteLaw& law, double delta) {
  std::vector<Cluster> found;
  Cluster cluster{0, 0, -edge_distance(law, delta, 0, -1), 0};
  for (size_t left = 0; left + 1 < law.locations.size(); ++left) {
    const std::optional<Gap> gap = gap_after(law, delta, left);
    if (!gap) continue;
    cluster.last = left;
    cluster.high_offset = gap->above_left;
    found.push_back(cluster);
    cluster.first = left + 1;
    cluster.low_offset = gap->below_right;
  }
  cluster.last = law.locations.size() - 1;
  cluster.high_offset = edge_distance(law, delta, cluster.last, +1);
  found.push_back(cluster);
  return found;
}

std::optional<Gap> gap_after(const DiscreteLaw& law, double delta, size_t left) {
  if (!has_gap(law, delta, left)) return std::nullopt;
  return Gap{edge_distance(law, delta, left, +1), -edge_distance(law, delta, left + 1, -1)};
}

std::vector<SpectralNode> nodes(const DiscreteLaw& law, double delta, std::span<const double> breakpoints) {
  std::vector<double> cuts;
  for (double x : breakpoints) cuts.push_back(subordination(law, delta, x).real());
  std::vector<SpectralNode> all;
  for (const Cluster& cluster : clusters(law, delta)) {
    CurveOverCluster curve(law, delta, cluster);
    std::vector<double> angles;
    for (double u : cuts) {
      const double distance = (u - law.locations[cluster.first]) - cluster.low_offset;
      if (0 < distance && distance < curve.width()) angles.push_back(edge_angle(distance, curve.width()));
    }
    append_interval([&](double theta) { return curve.node(theta); }, angles, all);
  }
  return all;
}

namespace {

CurveOverCluster::CurveOverCluster(const DiscreteLaw& law, double delta, const Cluster& cluster)
    : law_(law),
      delta_(delta),
      cluster_(cluster),
      first_(law.locations[cluster.first]),
      last_(law.locations[cluster.last]),
      width_((last_ - first_) + (cluster.high_offset - cluster.low_offset)) {}

SpectralNode CurveOverCluster::node(double theta) {
  // Measured from the nearer edge, where the density depends on the distance to it.
  const bool low = theta < std::numbers::pi / 2;
  const double from_low = distance_from_low_edge(width_, theta);
  const double reference = low ? first_ : last_;
  const double offset =
      low ? cluster_.low_offset + from_low : cluster_.high_offset - distance_from_high_edge(width_, theta);
  const CurvePoint point = curve_point(law_, delta_, reference, offset, guess(from_low));
  known_[from_low] = {point.height_squared, -2 * point.sums.b1 / point.sums.b0};
  const double density = std::sqrt(point.height_squared) / (std::numbers::pi * delta_ * delta_);
  const double x = reference + (offset + delta_ * delta_ * point.sums.a1);
  return {x, density * curve_slope(point, delta_) * width_ / 2 * std::sin(theta), density, point.sums.a1};
}

double CurveOverCluster::guess(double distance) const {
  const auto above = known_.lower_bound(distance);
  if (above == known_.begin() || above == known_.end()) return 0;
  const auto [left, low] = *std::prev(above);
  const auto [right, high] = *above;
  const double length = right - left;
  const double t = (distance - left) / length;
  const double cubic = (1 - t) * (1 - t) * ((1 + 2 * t) * low.height_squared + t * length * low.slope) +
                       t * t * ((3 - 2 * t) * high.height_squared - (1 - t) * length * high.slope);
  return std::max(0.0, cubic);
}

double edge_distance(const DiscreteLaw& law, double delta, size_t atom, int direction) {
  // h = a0^(-1/2) is concave between two atoms (a power mean of exponent -2 of the distances) and bounded by
  // its value for this atom alone: Newton on h = delta climbs monotonically from there.
  double distance = delta * std::sqrt(law.masses[atom]);
  for (int i = 0; i < 100; ++i) {
    const AtomSums sums = sum_atoms(law, law.locations[atom], direction * distance, 0);
    const double slope = direction * sums.b1 / (sums.a0 * std::sqrt(sums.a0));
    const double step = (delta - 1 / std::sqrt(sums.a0)) / slope;
    if (!(step > 1e-15 * distance)) break;
    distance += step;
  }
  return distance;
}

bool has_gap(const DiscreteLaw& law, double delta, size_t left) {
  const double s = law.locations[left];
  const double length = law.locations[left + 1] - s;
  const double left_root = std::cbrt(law.masses[left]);
  const double right_root = std::cbrt(law.masses[left + 1]);
  const double enough = 1 / (delta * delta);
  // The two atoms alone: least value of w_left/t^2 + w_right/(length - t)^2 and where it is taken.
  if (std::pow(left_root + right_root, 3) / (length * length) >= enough) return false;
  double lo = 0;
  double hi = length;
  double t = length * left_root / (left_root + right_root);
  for (int i = 0; i < 100; ++i) {
    // a0 is convex in t, with derivatives -2 b1 and 6 b0.
    const AtomSums sums = sum_atoms(law, s, t, 0);
    if (sums.a0 < enough) return true;
    (sums.b1 > 0 ? lo : hi) = t;
    const double furthest = sums.b1 > 0 ? hi - t : t - lo;
    if (sums.a0 - 2 * std::abs(sums.b1) * furthest >= enough) return false;
    double next = t + sums.b1 / (3 * sums.b0);
    if (!(lo < next && next < hi)) next = (lo + hi) / 2;
    if (std::abs(next - t) <= 1e-12 * length) return false;
    t = next;
  }
  return false;
}

}  // namespace
}  // namespace qklab::spectra
