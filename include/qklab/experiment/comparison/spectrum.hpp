#pragma once

#include <vector>

#include "qklab/theory/fixed_point/student_spectrum.hpp"

namespace qklab::experiment {

/// A density on a grid that is finer towards the ends of each interval; between intervals it is zero.
struct DensityCurve {
  std::vector<double> x;
  std::vector<double> p;
};

/// Density of the non-zero eigenvalues of S on about `points` points, at least 9 an interval; the trapezoidal
/// rule gives back its mass to about 10/points^2 of an interval's. Empty for S = 0.
DensityCurve eigenvalue_density(const theory::StudentSpectrum& spectrum, int points);

/// Density of the non-zero singular values of what is trained: of W for a tied student (S = W W^T), of S
/// itself otherwise. Empty for S = 0.
DensityCurve singular_value_density(const theory::StudentSpectrum& spectrum, int points);

/// Bars whose area is the fraction of non-zero eigenvalues, to lay under a DensityCurve.
struct Histogram {
  std::vector<double> bin_edges;
  std::vector<double> p;  ///< one less than edges
};

/// Eigenvalues below this share of the largest count as zero in trained models.
inline constexpr double zero_below = 1e-3;

/// Histogram of the non-zero ones among `eigenvalues`, in 10 to 80 equal bins (Freedman and Diaconis, halved
/// width).
Histogram histogram(std::vector<double> eigenvalues);

}  // namespace qklab::experiment
