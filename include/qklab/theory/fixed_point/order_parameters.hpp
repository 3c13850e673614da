#pragma once

namespace qklab::theory {

/// What describes the student in the limit of high dimension.
///
/// The self-overlap is held by its part orthogonal to the teacher, which keeps its digits near recovery.
struct OrderParameters {
  double overlap = 0;         ///< m = Tr(S S0)/d
  double orthogonal = 0;      ///< q - m^2/Q0, q = Tr(S^2)/d
  double susceptibility = 0;  ///< V
};

/// Their conjugates: the matrix side sees S0 through mhat S0 + sqrt(qhat) Z with curvature Vhat.
struct ConjugateParameters {
  double overlap_hat = 0;         ///< mhat
  double self_overlap_hat = 0;    ///< qhat
  double susceptibility_hat = 0;  ///< Vhat
};

}  // namespace qklab::theory
