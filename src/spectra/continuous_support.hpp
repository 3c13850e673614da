#pragma once

#include <complex>
#include <functional>
#include <span>
#include <vector>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab::spectra {

/// Masses that differ by less than this are the same number: a fraction this close to the mass above a gap of
/// the support lands in the gap.
inline constexpr double kMassRounding = 1e-12;

/// The x with mass_above(x) = fraction for a measure that lives on a few intervals; the middle of a gap where
/// the fraction is the mass above it.
double continuous_upper_quantile(const std::vector<Interval>& support, double fraction,
                                 const std::function<double(double)>& mass_above);

/// Quadrature nodes on a few intervals, from the boundary value G(x + i0) inside them.
std::vector<SpectralNode> continuous_nodes(const std::vector<Interval>& support,
                                           std::span<const double> breakpoints,
                                           const std::function<std::complex<double>(double)>& stieltjes);

}  // namespace qklab::spectra
