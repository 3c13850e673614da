#pragma once

#include "qklab/channel/labels/channel.hpp"

namespace qklab {

/// A batch for the attention kernel: rows of samples, `stride` values apart, laid out as in attention().
template <class Real>
struct AttentionRows {
  int stride;
  ScoreLayout layout;
  const Real* scores;
  Real* attention;
};

/// A batch for the loss kernel, laid out as in loss_and_gradient().
template <class Real>
struct LossRows {
  int stride;
  ScoreLayout layout;
  const Real* scores;
  const Real* correlation;
  const Real* gram;  ///< may be null: the identity
  Real* gradient;
  Real* loss;  ///< one row, one value a sample
};

}  // namespace qklab
