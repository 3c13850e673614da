#pragma once

#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/theory/fixed_point/student_spectrum.hpp"

namespace qklab::theory {

/// How accurately the fixed point is wanted.
struct SolveOptions {
  QmcOptions qmc{};          ///< sampling of the output side (softmax)
  double tolerance = 1e-7;   ///< on the residual |F(x) - x| of the map in its own variables
  int max_iterations = 400;  ///< evaluations of the map
  StopToken stop{};
};

/// Throws InvalidParameter when an option is out of range.
SolveOptions checked(SolveOptions options);

/// A fixed point of the state evolution (docs/theory section 2) and what follows from it. Values that depend
/// on sampled expectations carry the standard error over independent scramblings.
struct Solution {
  Problem problem;
  Estimate overlap;                       ///< m = Tr(S S0)/d
  Estimate self_overlap;                  ///< q = Tr(S^2)/d; untied: that of the symmetric part
  Estimate antisymmetric_self_overlap{};  ///< Tr(S_a S_a^T)/d of the antisymmetric part (untied), else 0
  Estimate susceptibility;                ///< V
  Estimate overlap_hat;                   ///< mhat
  Estimate self_overlap_hat;              ///< qhat
  Estimate susceptibility_hat;            ///< Vhat
  Estimate test_error;                    ///< E ||sigma(h0) - sigma(h)||_F^2, no label noise
  Estimate train_loss;   ///< alpha E ||y - sigma(h*)||_F^2, the data term of the objective at the minimiser
  Estimate train_error;  ///< train_loss/alpha, the mean loss of a training sample
  Estimate regularization;  ///< the penalty term of the objective
  Estimate zero_fraction;   ///< fraction of zero eigenvalues of S
  Estimate stability;       ///< < 1: replica symmetric solution locally stable
  bool stable = false;
  double estimator_gap =
      0;  ///< |Stein - implicit|/Stein of Vhat: > 0 beyond errors where the proximal map jumps
  double competing_minima = 0;  ///< fraction of proximal problems with several minima
  /// Times the sampling points were drawn anew, a function of the seed, because the sampled map jumped over
  /// its fixed point (docs/theory section 3).
  int redraws = 0;
  double unconverged_proximals = 0;  ///< fraction of proximal problems that did not reach their tolerance
  StudentSpectrum spectrum;
  std::vector<Interval> edges;  ///< intervals of the law of S away from the atom at zero, ascending
  int sampled_dimension = 0;    ///< d of the matrices that the matrix side was sampled on; 0: exact
  Outcome outcome = Outcome::stagnated;
  int iterations = 0;
  double residual = 0;
};

}  // namespace qklab::theory
