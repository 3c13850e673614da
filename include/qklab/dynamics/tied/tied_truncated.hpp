#pragma once

#include "qklab/core/problem.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::dynamics {

/// The recurrence of the polynomials that are orthogonal under a law: x P_k = beta_k P_{k+1} + alpha_k P_k +
/// beta_{k-1} P_{k-1}, normalised.
struct JacobiCoefficients {
  std::vector<double> diagonal;  ///< alpha_0 .. alpha_{M-1}
  std::vector<double> coupling;  ///< beta_0 .. beta_{M-1}; the last one is 0 where the law has M atoms
};

/// The first `order` of them: in closed form for a Wishart law, by Lanczos with full reorthogonalisation for
/// atoms; fewer where the law has fewer atoms. Throws InvalidParameter for order < 1 and for a semicircle.
JacobiCoefficients jacobi_coefficients(const Law& law, int order);

/// c times the law of W W^T, W d x p with iid N(0, 1/d) entries, p = kappa d.
JacobiCoefficients wishart_coefficients(double entry_variance, double kappa, int order);

/// The teacher's law held by M atoms: its M-node Gauss rule, which has the same first 2M moments
/// (Golub-Welsch). A tied flow of it is a truncation of the infinite hierarchy of moments at M + 1 equations,
/// whose error falls exponentially in M at every time (docs/theory section 10.5.2). Fewer atoms where the law
/// has fewer. Throws like jacobi_coefficients.
DiscreteLaw truncated_law(const Law& law, int nodes);

/// The law whose flow is that of the limit d -> infinity to `tied_flow`'s accuracy: 64 Gauss nodes of a
/// Wishart law, lists as they are.
DiscreteLaw flow_law(const Law& law);

}  // namespace qklab::dynamics
