#pragma once

#include <memory>

#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::theory {

class BayesChannel;

/// The Bayes-optimal reference of one point: what the posterior mean of S0 reaches (docs/theory section 5).
struct BayesSolution {
  Problem problem;
  double overlap = 0;           ///< q = Tr(S S0)/d = Tr(S^2)/d, S the posterior mean
  double squared_error = 0;     ///< Q0 - q, held by itself so that it keeps its digits near recovery
  double squared_error_se = 0;  ///< of the overlap as well; hardmax only, else 0: exact
  double overlap_hat = 0;       ///< qhat; infinite where S0 is recovered
  double overlap_hat_se = 0;    ///< hardmax only, else 0
  Estimate test_error;          ///< E ||sigma(h0) - sigma(h)||_F^2 of S, no label noise
  Outcome outcome = Outcome::stagnated;
  int iterations = 0;   ///< evaluations of the equation
  double residual = 0;  ///< |log(delta^2 qhat)|, delta the noise level that Q0 - q needs
};

/// Solves the Bayes-optimal state evolution of one problem after another, and keeps what it has sampled as
/// long as the channel stays the same.
///
/// A Wishart teacher is seen through labels that determine the noisy scores, softmax without `noise_out` or
/// identity, (5.1) to (5.3), or through hardmax labels of two or three tokens without `noise_out`, (5.6) and
/// (5.7). The student's width, parametrization and weight decay play no part.
///
/// From (recovery) alpha = bayes_recovery_alpha on, without noise, S0 is recovered: q = Q0, error exactly 0,
/// converged; never by hardmax labels. Where the labels determine the scores, the sampling of `options`
/// serves the test error alone. Throws InvalidParameter for other problems. Source: arXiv 2506.01582.
class BayesSolver {
 public:
  explicit BayesSolver(const SolveOptions& options = {});
  ~BayesSolver();
  BayesSolver(BayesSolver&&) noexcept;
  BayesSolver& operator=(BayesSolver&&) noexcept;

  BayesSolution solve(const Problem& problem);

 private:
  std::unique_ptr<BayesChannel> channel_;
  SolveOptions options_;
};

/// The solution of one problem.
BayesSolution solve_bayes(const Problem& problem, const SolveOptions& options = {});

/// Throws InvalidParameter where solve_bayes does.
void require_bayes_reference(const Problem& problem);

/// (1/d) Tr E[(S0 - E[S0|X])^2] of X = S0 + delta Z, Z a GOE matrix and S0 a Wishart matrix of rank ratio
/// kappa0: (5.2). To 1e-12 relative for delta from 1e-6 to 1e4. Domain: kappa0 > 0, delta > 0.
double wishart_denoising_error(double kappa0, double delta);

/// The alpha from which no noise hides S0 any more, by counting its free entries: (5.5). Throws
/// InvalidParameter like solve_bayes, for noise, and for hardmax.
double bayes_recovery_alpha(const Problem& problem);

}  // namespace qklab::theory
