#pragma once

#include <memory>

#include "qklab/lab/message_passing/amp.hpp"

namespace qklab::lab {

/// What the output side hands to the matrix side beside R.
struct AmpConjugates {
  Sectors self_overlap;    ///< qhat
  Sectors susceptibility;  ///< Vhat
};

/// A student and how it moves with R.
struct AmpStudent {
  Matrix matrix;           ///< S, d x d
  Sectors susceptibility;  ///< V = (2/d^2) tr dS/dR in each sector
};

/// The matrix side of message passing, (9.4): at high dimension R is mhat S0 + sqrt(qhat) Z, Z a GOE matrix
/// of spectral radius 2 (and sqrt(qhat_a) Z_a, where S has an antisymmetric part).
class AmpDenoiser {
 public:
  virtual ~AmpDenoiser() = default;
  /// May keep the last answer as a start. Throws Error when LAPACK does not converge.
  virtual AmpStudent operator()(const Matrix& R, const AmpConjugates& hats) = 0;
};

/// Empirical risk minimisation: the minimiser over S of Vhat |S|^2/2 - <R, S> + the penalty of (1.4).
std::unique_ptr<AmpDenoiser> erm_denoiser(const Problem& problem);

/// The posterior mean of S0 (docs/theory section 5.5). Throws InvalidParameter unless the teacher is Wishart.
std::unique_ptr<AmpDenoiser> bayes_denoiser(const Problem& problem);

}  // namespace qklab::lab
