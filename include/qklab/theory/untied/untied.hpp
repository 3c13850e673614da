#pragma once

#include <vector>

#include "qklab/theory/fixed_point/solution.hpp"

namespace qklab::theory {

/// How accurately the fixed point of an untied student is wanted.
struct UntiedOptions {
  SolveOptions solve{};
  /// d of the sampled matrices; teachers given mode by mode bring their own. The relative bias of the matrix
  /// side is about 0.5/d or less (docs/theory section 8.3).
  int dimension = 200;
  int samples = 8;  ///< independent matrices, whose spread gives the standard error
};

/// A fixed point of the state evolution of untied students of several tokens, S = U V^T (docs/theory section
/// 8). Standard errors are those of both samplings together.
struct UntiedSolution {
  Problem problem;
  Estimate overlap;                           ///< m = Tr(S S0)/d
  Estimate symmetric_self_overlap;            ///< q_s = Tr(S_s^2)/d, S_s = (S + S^T)/2
  Estimate antisymmetric_self_overlap;        ///< q_a = Tr(S_a S_a^T)/d, S_a = (S - S^T)/2
  Estimate symmetric_susceptibility;          ///< V_s
  Estimate antisymmetric_susceptibility;      ///< V_a; NaN where nothing drives the antisymmetric part
  Estimate overlap_hat;                       ///< mhat
  Estimate symmetric_self_overlap_hat;        ///< qhat_s
  Estimate antisymmetric_self_overlap_hat;    ///< qhat_a
  Estimate symmetric_susceptibility_hat;      ///< Vhat_s
  Estimate antisymmetric_susceptibility_hat;  ///< Vhat_a
  Estimate test_error;                        ///< E ||sigma(h0) - sigma(h)||_F^2, no label noise
  Estimate train_loss;                        ///< alpha E ||y - sigma(h*)||_F^2
  Estimate train_error;                       ///< train_loss/alpha
  Estimate regularization;                    ///< (lambda/d) |S|_*
  Estimate zero_fraction;                     ///< fraction of zero singular values of S
  Estimate stability;        ///< < 1: stable (8.15); its error is that of the two factors at the fixed point
  double estimator_gap = 0;  ///< |Stein - implicit|/Stein of Vhat_s
  double competing_minima = 0;
  double unconverged_proximals = 0;
  std::vector<double> singular_values;  ///< of the sampled S, all samples, ascending
  int sampled_dimension = 0;
  int samples = 0;
  /// Times the points of the output side and the matrices were drawn anew, a function of the seed, because
  /// the sampled map jumped over its fixed point (docs/theory section 3).
  int redraws = 0;
  Outcome outcome = Outcome::stagnated;
  int iterations = 0;
  double residual = 0;
};

/// Solves the state evolution of untied students of T >= 2 tokens, softmax or identity.
///
/// Exact but for sampling: the output side over scrambled Sobol nets, the matrix side over random matrices.
/// Throws InvalidParameter for another parametrization, one token, kappa < 1 (a rank-limited nuclear norm is
/// another problem) or lambda = 0. Non-convergence is reported by `outcome`, never thrown. Derived in
/// docs/theory section 8.
UntiedSolution solve_untied(const Problem& problem, const UntiedOptions& options = {});

/// True for problems whose matrix side has no exact law, so that solve() hands them to solve_untied().
bool is_sampled(const Problem& problem);

/// The same as a Solution: self_overlap is q_s, susceptibility and conjugates are those of the symmetric
/// part, and there is no law of the spectrum.
Solution as_solution(const UntiedSolution& untied);

}  // namespace qklab::theory
