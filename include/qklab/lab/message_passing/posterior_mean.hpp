#pragma once

#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

/// The posterior mean of a matrix seen through noise.
struct PosteriorMean {
  Matrix matrix;  ///< E[S0 | X], d x d, exactly symmetric
  double variance =
      0;  ///< (2 delta^2/d^2) tr dE/dX over symmetric matrices: Tr E[(S0 - E[S0|X])^2]/d as d grows
};

/// E[S0 | X] of X = S0 + delta Z, S0 a Wishart matrix of rank ratio kappa0 (qklab/core/problem.hpp) and Z a
/// GOE matrix of spectral radius 2: the eigenvalues x of X moved to x - 2 delta^2 H(x), H the Hilbert
/// transform of the limit law of X (docs/theory section 5.5; Ledoit and Peche 2011, Bun, Allez, Bouchaud and
/// Potters 2016). Exact as d grows; below delta = 1e-7 the law's own digits end and E[S0 | X] = X.
///
/// Throws InvalidParameter unless kappa0 > 0 and delta > 0, and Error like symmetric_modes().
PosteriorMean wishart_posterior_mean(const Matrix& x, double kappa0, double delta);

}  // namespace qklab::lab
