#pragma once

#include <complex>
#include <span>
#include <utility>
#include <vector>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab::spectra {

/// Throws InvalidParameter unless kappa0 is > 0 and finite.
void check(const WishartLaw& law);

std::pair<std::complex<double>, std::complex<double>> resolvent(const WishartLaw& law,
                                                                std::complex<double> z);
double moment(const WishartLaw& law, int k);
Interval hull(const WishartLaw& law);

/// The interval that carries the density, the atom at zero left out.
Interval bulk(const WishartLaw& law);
double distance_to_support(const WishartLaw& law, double u);

std::vector<Interval> support(const WishartLaw& law, double delta);
Interval outer_edges(const WishartLaw& law, double delta);
std::complex<double> subordination(const WishartLaw& law, double delta, double x);
double mass_above(const WishartLaw& law, double delta, double x);
double upper_quantile(const WishartLaw& law, double delta, double fraction);
std::vector<SpectralNode> nodes(const WishartLaw& law, double delta, std::span<const double> breakpoints);

}  // namespace qklab::spectra
