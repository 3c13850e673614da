#pragma once

#include <functional>
#include <vector>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab::spectra {

// An interval of the support of width `width` is run through by theta in [0, pi], at distance width
// sin^2(theta/2) from its low edge: a density that vanishes like a square root at both edges is analytic in
// theta there.

double distance_from_low_edge(double width, double theta);
double distance_from_high_edge(double width, double theta);

/// theta of the point at `distance` from the low edge.
double edge_angle(double distance, double width);

/// Node at theta: weight = density dx/dtheta.
using PanelPoint = std::function<SpectralNode(double theta)>;

/// Appends the nodes of an interval, cut at `angles` (any order), with as many nodes as resolve the weight
/// and the Hilbert transform to rounding: one Gauss-Chebyshev rule where there is no cut and a few nodes do,
/// else Gauss-Legendre panels, halved where needed.
void append_interval(const PanelPoint& point, std::vector<double> angles, std::vector<SpectralNode>& nodes);

}  // namespace qklab::spectra
