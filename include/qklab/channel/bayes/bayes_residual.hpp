#pragma once

#include "qklab/channel/labels/channel.hpp"

namespace qklab {

/// What a label says of a sample beside its residual.
struct Evidence {
  double log = 0;  ///< log Z; of a hardmax label its probability, else a density over the visible scores
  double divergence = 0;  ///< sum_i dg_i/dw_i
};

/// The Bayes-optimal output function of one sample: with prior e ~ N(w, V) on its white scores (docs/theory
/// section 1.4) and label y,
///
///   Z(y, w, V) = P(y | e ~ N(w, V)),   g = grad_w log Z = (E[e | y] - w)/V
///
/// (docs/theory section 5.4). softmax without noise_out and identity: closed form, the label determines the
/// noisy scores. hardmax without noise_out, two and three tokens: deterministic integrals over the scores
/// between different tokens, to 1e-10 in log Z and, in units of V^(-1/2) and 1/V, in g and its divergence,
/// for unlikely labels as well.
class BayesResidual {
 public:
  /// Throws InvalidParameter for a channel outside its domain, noise < 0, noise_out > 0 unless identity, and
  /// hardmax of more than three tokens.
  BayesResidual(const Channel& channel, double noise_in, double noise_out);

  /// `label` is y, T x T row by row; `center` w and `residual` g hold the pair_count() white coordinates,
  /// pairs a <= b row by row, V > 0. A hardmax label that no symmetric scores have (three tokens that prefer
  /// each other in a ring) has log Z = -infinity and g = 0. NaN gives NaN.
  Evidence operator()(const double* label, const double* center, double variance, double* residual) const;

  const Channel& channel() const { return channel_; }

 private:
  Channel channel_;
  double noise_;  ///< variance of the noise on a white coordinate
};

}  // namespace qklab
