#pragma once

#include <complex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "atom_sums.hpp"
#include "qklab/spectra/free_convolution.hpp"

namespace qklab::spectra {

/// Throws InvalidParameter unless locations ascend strictly and masses are > 0 and sum to 1.
void check(const DiscreteLaw& law);

std::pair<std::complex<double>, std::complex<double>> resolvent(const DiscreteLaw& law,
                                                                std::complex<double> z);
double moment(const DiscreteLaw& law, int k);
Interval hull(const DiscreteLaw& law);
double distance_to_support(const DiscreteLaw& law, double u);

std::vector<Interval> support(const DiscreteLaw& law, double delta);
Interval outer_edges(const DiscreteLaw& law, double delta);
std::complex<double> subordination(const DiscreteLaw& law, double delta, double x);
double mass_above(const DiscreteLaw& law, double delta, double x);
double upper_quantile(const DiscreteLaw& law, double delta, double fraction);
std::vector<SpectralNode> nodes(const DiscreteLaw& law, double delta, std::span<const double> breakpoints);

/// A point of Biane's curve omega = u + i v(u), with u = (reference atom) + offset.
struct CurvePoint {
  double height_squared = 0;  ///< v^2, 0 in the gaps
  AtomSums sums;              ///< at omega
};

/// v(u) at u = reference + offset. `guess` is a value of v^2 nearby, 0 for none.
CurvePoint curve_point(const DiscreteLaw& law, double delta, double reference, double offset,
                       double guess = 0);

/// dx/du along the curve.
double curve_slope(const CurvePoint& point, double delta);

/// Neighbouring atoms that share one interval of the support. In u it runs from locations[first] + low_offset
/// to locations[last] + high_offset.
struct Cluster {
  size_t first = 0;
  size_t last = 0;
  double low_offset = 0;
  double high_offset = 0;
};

std::vector<Cluster> clusters(const DiscreteLaw& law, double delta);

/// The gap of the support between two neighbouring atoms, as offsets in u from either of them.
struct Gap {
  double above_left = 0;   ///< > 0, from the left atom
  double below_right = 0;  ///< < 0, from the right atom
};

/// The gap between the atoms `left` and `left + 1`, where there is one.
std::optional<Gap> gap_after(const DiscreteLaw& law, double delta, size_t left);

/// x at a real u outside the support.
double real_x(const DiscreteLaw& law, double delta, size_t atom, double offset);

}  // namespace qklab::spectra
