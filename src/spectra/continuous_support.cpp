#include "continuous_support.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "panels.hpp"
#include "root.hpp"

namespace qklab::spectra {

double continuous_upper_quantile(const std::vector<Interval>& support, double fraction,
                                 const std::function<double(double)>& mass_above) {
  size_t interval = support.size() - 1;
  while (interval > 0) {
    const double middle = (support[interval - 1].hi + support[interval].lo) / 2;
    const double mass = mass_above(middle);
    if (std::abs(mass - fraction) <= kMassRounding) return middle;
    if (fraction < mass) break;
    --interval;
  }
  return bracketed_root([&](double x) { return mass_above(x) - fraction; }, support[interval].lo,
                        support[interval].hi);
}

std::vector<SpectralNode> continuous_nodes(const std::vector<Interval>& support,
                                           std::span<const double> breakpoints,
                                           const std::function<std::complex<double>(double)>& stieltjes) {
  std::vector<SpectralNode> nodes;
  for (const Interval& interval : support) {
    const double width = interval.hi - interval.lo;
    const auto point = [&](double theta) {
      const double x = interval.lo + distance_from_low_edge(width, theta);
      const std::complex<double> g = stieltjes(x);
      const double density = -g.imag() / std::numbers::pi;
      return SpectralNode{x, density * width / 2 * std::sin(theta), density, g.real()};
    };
    std::vector<double> angles;
    for (double x : breakpoints) {
      if (interval.lo < x && x < interval.hi) angles.push_back(edge_angle(x - interval.lo, width));
    }
    append_interval(point, angles, nodes);
  }
  return nodes;
}

}  // namespace qklab::spectra
