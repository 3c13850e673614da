#pragma once

#include "qklab/core/problem.hpp"

namespace qklab {

/// Which scores of a sample are stored, a row each: `pairs` for symmetric scores, a <= b row by row; `full`
/// for any scores, all T x T row by row.
enum class ScoreLayout { pairs, full };

/// The map from scores to labels, sigma, for T tokens.
///
/// Scores h_ab, a <= b, are packed row by row: (0,0), (0,1), ..., (0,T-1), (1,1), ... ; as d grows they are
/// independent N(0, (1 + delta_ab) Q). White coordinates e are the scores divided by sqrt(1 + delta_ab) and,
/// for the softmax, projected orthogonally to the one direction the labels cannot see (all h_ab shifted
/// alike): e ~ N(0, Q I_r) with r = score_dimension(). The whole state evolution lives in these coordinates
/// (docs/theory section 2).
struct Channel {
  Activation activation = Activation::softmax;
  int tokens = 2;
  double beta = 1.0;

  /// T(T+1)/2, the number of distinct scores.
  int pair_count() const { return tokens * (tokens + 1) / 2; }
  /// The number of stored scores: pair_count() or T^2.
  int score_count(ScoreLayout layout) const {
    return layout == ScoreLayout::full ? tokens * tokens : pair_count();
  }
  /// r: T(T+1)/2 - 1 for softmax and hardmax, T(T+1)/2 for identity.
  int score_dimension() const { return pair_count() - (activation == Activation::identity ? 0 : 1); }
};

/// Throws InvalidParameter unless: softmax with T >= 2 and beta > 0, hardmax with T >= 2, or identity with
/// T >= 1.
Channel checked(Channel channel);

/// The same for a channel whose labels change with the scores, so that a loss has a gradient: hardmax is
/// refused as well.
Channel checked_differentiable(Channel channel);

Channel channel_of(const Problem& problem);

}  // namespace qklab
