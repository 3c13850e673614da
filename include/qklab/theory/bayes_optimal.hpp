#pragma once

#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/theory/state_evolution.hpp"

namespace qklab::theory {

/// The Bayes-optimal reference of one point: what the posterior mean of S0 reaches (docs/theory section 5).
struct BayesSolution {
  Problem problem;
  double overlap = 0;        ///< q = Tr(S S0)/d = Tr(S^2)/d, S the posterior mean
  double squared_error = 0;  ///< Q0 - q, held by itself so that it keeps its digits near recovery
  double overlap_hat = 0;    ///< qhat; infinite where S0 is recovered
  Estimate test_error;       ///< E ||sigma(h0) - sigma(h)||_F^2 of S, no label noise
  Outcome outcome = Outcome::stagnated;
  int iterations = 0;   ///< evaluations of the equation
  double residual = 0;  ///< |log((Q0 - q + Delta) qhat/(2 alpha r))|
};

/// Solves the Bayes-optimal state evolution, (5.1) to (5.3): a Wishart teacher seen through labels that
/// determine the noisy scores, which is softmax without `noise_out` or identity. The student's width,
/// parametrization and weight decay play no part.
///
/// From (recovery) alpha = bayes_recovery_alpha on, without noise, S0 is recovered: q = Q0, error exactly 0,
/// converged. The sampling of `options` serves the test error alone. Throws InvalidParameter for other
/// problems. Source: arXiv 2506.01582.
BayesSolution solve_bayes(const Problem& problem, const SolveOptions& options = {});

/// Throws InvalidParameter where solve_bayes does.
void require_bayes_reference(const Problem& problem);

/// (1/d) Tr E[(S0 - E[S0|X])^2] of X = S0 + delta Z, Z a GOE matrix and S0 a Wishart matrix of rank ratio
/// kappa0: (5.2). To 1e-12 relative for delta from 1e-6 to 1e4. Domain: kappa0 > 0, delta > 0.
double wishart_denoising_error(double kappa0, double delta);

/// The alpha from which no noise hides S0 any more, by counting its free entries: (5.5). Throws
/// InvalidParameter like solve_bayes, and for noise.
double bayes_recovery_alpha(const Problem& problem);

}  // namespace qklab::theory
