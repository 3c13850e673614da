#pragma once

#include "qklab/channel/labels/channel.hpp"

namespace qklab {

/// sigma(h) for a batch of samples, vectorised over samples; Real is float or double.
///
/// `scores` holds score_count(layout) rows of `count` values ([score * count + sample]), `attention` gets T*T
/// rows ([(a*T + b) * count + sample]). Relative error of an entry: at most (T + 4 + 2 beta max|h|) epsilon
/// of Real; hardmax is exact, and of equal largest scores takes the first. NaN scores give NaN. Throws
/// InvalidParameter for a channel outside its domain (see checked).
template <class Real>
void attention(const Channel& channel, int count, const Real* scores, Real* attention,
               ScoreLayout layout = ScoreLayout::pairs);

/// Squared loss of a batch and its gradient with respect to the stored scores, each once.
///
/// Per sample the loss is sum_a [A_a C A_a^T - 2 A_a . R_a] with A = sigma(h). Adding the constant ||y||^2
/// makes it ||y - A||_F^2 for C = I, R = y (task seq2lab), and ||y - A x||^2/d for C = x x^T/d, R = y x^T/d
/// (task seq2seq). `correlation` is R ([(a*T + b) * count + sample]), `gram` is C, a <= b row by row, or null
/// for the identity. Identity with T = 1: h^2 C - 2 h R. Writes `gradient` (laid out like `scores`) and
/// returns the sum of the losses, accumulated in double in a fixed order, the same on every machine. Throws
/// like attention().
template <class Real>
double loss_and_gradient(const Channel& channel, int count, const Real* scores, const Real* correlation,
                         const Real* gram, Real* gradient, ScoreLayout layout = ScoreLayout::pairs);

}  // namespace qklab
