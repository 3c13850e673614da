#pragma once

#include <complex>
#include <utility>
#include <variant>
#include <vector>

#include "qklab/core/problem.hpp"

namespace qklab {

struct Interval {
  double lo = 0;
  double hi = 0;
};

struct Atom {
  double location = 0;
  double mass = 0;
};

/// Density sqrt(radius^2 - x^2) * 2/(pi radius^2); second moment radius^2/4.
struct SemicircleLaw {
  double radius = 2;
};

/// Eigenvalues of W0 W0^T / sqrt(p0 d), p0 = kappa0 d (Marchenko-Pastur, free Poisson of rate kappa0 and jump
/// 1/sqrt(kappa0)): mean sqrt(kappa0), second moment 1 + kappa0, atom of mass 1 - kappa0 at zero when kappa0
/// < 1.
struct WishartLaw {
  double kappa0 = 0.5;
};

/// Finitely many atoms: locations strictly ascending, masses > 0 that sum to 1.
struct DiscreteLaw {
  std::vector<double> locations;
  std::vector<double> masses;
};

/// A probability measure on the line with a known Stieltjes transform: the law of the teacher's eigenvalues.
using Law = std::variant<SemicircleLaw, WishartLaw, DiscreteLaw>;

/// The empirical law of a list of eigenvalues (any order; equal ones are merged). Throws InvalidParameter
/// when the list is empty or holds a value that is not finite.
DiscreteLaw empirical_law(const std::vector<double>& eigenvalues);

/// The same law with its dense part held by fewer atoms, for long lists that fall slowly: the largest `kept`
/// eigenvalues stay, and each further run of neighbours within 5 % of one another becomes four atoms with the
/// same first eight moments (the Gauss rule of the run). Integrals against the free convolution change by
/// less than 1e-10 of themselves as long as the noise does not resolve single eigenvalues of the runs.
/// Throws like empirical_law.
DiscreteLaw compressed_law(std::vector<double> eigenvalues, std::size_t kept);

/// Law of the teacher's eigenvalues: Wishart in the limit, lists as they are. A power law of more than 8192
/// modes is compressed beyond its 4096th.
Law teacher_law(const Problem& problem);

/// G(z) = int law(ds)/(z - s) for Im z > 0, or z real outside the support; Im G <= 0 in the upper half plane.
std::complex<double> stieltjes(const Law& law, std::complex<double> z);

/// (G(z), G'(z)) in one pass.
std::pair<std::complex<double>, std::complex<double>> stieltjes_and_derivative(const Law& law,
                                                                               std::complex<double> z);

/// k-th moment, k = 0, 1, 2.
double moment(const Law& law, int k);

/// Smallest interval that holds the support.
Interval hull(const Law& law);

/// The atoms of the law, ascending.
std::vector<Atom> atoms(const Law& law);

}  // namespace qklab
