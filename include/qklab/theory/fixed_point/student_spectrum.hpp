#pragma once

#include <vector>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab::theory {

/// Law of the student S at a fixed point: S = scale * f(X), X = S0 + delta Z with Z a GOE matrix, mu the law
/// of X.
///
/// Tied: f(x) = x - threshold for x > cut, else 0; the width ratio limits the rank through the cut. Untied:
/// f(x) = sign(x) (|x| - threshold)_+. Direct: f(x) = x. Source: docs/theory section 2.
struct StudentSpectrum {
  Law teacher;
  Parametrization parametrization = Parametrization::tied;
  double delta = 0;      ///< sqrt(qhat)/mhat
  double threshold = 0;  ///< b = 2 lambda/mhat
  double cut = 0;        ///< largest of the threshold and the quantile that the width ratio allows
  double scale = 0;      ///< mhat/Vhat (tied), mhat/(Vhat + 4 lambda) (direct); 0: S = 0
};

/// Fraction of the eigenvalues of S that are zero.
double zero_fraction(const StudentSpectrum& spectrum);

/// Intervals that hold the non-zero eigenvalues of S, ascending.
std::vector<Interval> student_edges(const StudentSpectrum& spectrum);

/// Density at s of the non-zero eigenvalues of S; integrates to 1 - zero_fraction.
double student_density(const StudentSpectrum& spectrum, double s);

/// Density at w > 0 of the non-zero singular values of what is trained: W for a tied student (S = W W^T), S
/// itself for an untied or direct one; integrates to 1 - zero_fraction.
double weight_density(const StudentSpectrum& spectrum, double w);

/// int int [(f(x) - f(y))/(x - y)]^2 mu(dx) mu(dy), the spectral factor of the stability number. Infinite
/// when the width ratio cuts inside the bulk, where f jumps.
double divided_difference_norm(const StudentSpectrum& spectrum);

}  // namespace qklab::theory
