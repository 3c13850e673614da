#pragma once

#include "qklab/channel/labels/channel.hpp"

namespace qklab::lab {

/// A block of samples whose tokens have rows of `width` entries.
struct RowBlock {
  ScoreLayout layout;
  int tokens;  ///< T
  int count;   ///< samples
  int width;
};

/// Rows of a block: that of token a of sample s begins at first + (s * T + a) * stride.
template <class Real>
struct Rows {
  Real* first;
  int stride;
};

/// scores[k * count + s] = scale (left_sa . right_sb - delta_ab trace) for the pairs (a, b) of the layout, k
/// their position in it.
template <class Real>
void row_scores(const RowBlock& block, Rows<const Real> left, Rows<const Real> right, double trace,
                double scale, double* scores);

/// The same with right_sa . left_sb added to left_sa . right_sb, for the pairs a <= b (layout `pairs`).
template <class Real>
void symmetric_row_scores(const RowBlock& block, Rows<const Real> left, Rows<const Real> right, double trace,
                          double scale, double* scores);

/// Which of the two factors of a score a gradient is taken with respect to.
enum class Factor { left, right };

/// The gradient of sum g_ab left_sa . right_sb, with g laid out like scores, with respect to one factor,
/// given the rows of the other: mixed_sa = sum_b g_ab right_sb, or mixed_sb = sum_a g_ab left_sa. In the
/// layout `pairs` both factors are the same rows, and mixed_sa = sum_b (1 + delta_ab) g_ab rows_sb.
template <class Real>
void mix_rows(const RowBlock& block, Factor factor, const double* gradient, Rows<const Real> rows,
              Rows<Real> mixed);

}  // namespace qklab::lab
