#pragma once

#include <vector>

namespace qklab::spectra {

/// Gauss-Legendre rule on [-1, 1], nodes ascending.
struct GaussLegendreRule {
  std::vector<double> nodes;
  std::vector<double> weights;
};

/// The smallest tabulated rule with at least `count` nodes (an even number, 16..512); the largest one beyond.
const GaussLegendreRule& gauss_legendre(double count);

}  // namespace qklab::spectra
