#pragma once

namespace qklab::lab {

/// Scores of `count` samples of T tokens. Row s * T + a of `left` and `right` (width entries each) belongs to
/// token a of sample s: scores[pair * count + s] = scale (left_sa . right_sb - delta_ab trace), pairs a <= b
/// row by row.
template <class Real>
void row_scores(int tokens, int count, int width, const Real* left, const Real* right, double trace,
                double scale, double* scores);

/// mixed_sa = sum_b (1 + delta_ab) g_ab rows_sb, with g packed like scores: the gradient of sum g_ab rows_sa
/// . rows_sb (a <= b, each once) with respect to row (s, a).
template <class Real>
void mix_rows(int tokens, int count, int width, const double* gradient, const Real* rows, Real* mixed);

}  // namespace qklab::lab
