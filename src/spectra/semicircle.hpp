#pragma once

#include <complex>
#include <span>
#include <utility>
#include <vector>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab::spectra {

/// Throws InvalidParameter unless the radius is > 0 and finite.
void check(const SemicircleLaw& law);

std::pair<std::complex<double>, std::complex<double>> resolvent(const SemicircleLaw& law,
                                                                std::complex<double> z);
double moment(const SemicircleLaw& law, int k);
Interval hull(const SemicircleLaw& law);
double distance_to_support(const SemicircleLaw& law, double u);

// The sum of two free semicircles is the semicircle of variance radius^2/4 + delta^2.
std::vector<Interval> support(const SemicircleLaw& law, double delta);
Interval outer_edges(const SemicircleLaw& law, double delta);
std::complex<double> subordination(const SemicircleLaw& law, double delta, double x);
double mass_above(const SemicircleLaw& law, double delta, double x);
double upper_quantile(const SemicircleLaw& law, double delta, double fraction);
std::vector<SpectralNode> nodes(const SemicircleLaw& law, double delta, std::span<const double> breakpoints);

}  // namespace qklab::spectra
