#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "qklab/channel/labels/channel.hpp"

namespace qklab::test {

/// The channel straight from its definition, one sample at a time: the yardstick for the vector kernels.

inline int pair_of(int tokens, int a, int b) {
  if (a > b) std::swap(a, b);
  return a * tokens - a * (a - 1) / 2 + (b - a);
}

/// sigma(h), T x T.
inline std::vector<double> plain_attention(const Channel& channel, const std::vector<double>& scores,
                                           ScoreLayout layout = ScoreLayout::pairs) {
  const int tokens = channel.tokens;
  const auto at = [&](int a, int b) {
    return scores[layout == ScoreLayout::full ? a * tokens + b : pair_of(tokens, a, b)];
  };
  const bool softmax = channel.activation == Activation::softmax;
  std::vector<double> attention(tokens * tokens);
  for (int a = 0; a < tokens; ++a) {
    double top = -INFINITY;
    for (int b = 0; b < tokens; ++b) top = std::max(top, at(a, b));
    std::vector<long double> row(tokens);
    long double sum = 0;
    for (int b = 0; b < tokens; ++b) {
      const long double score = at(a, b);
      row[b] = softmax ? std::exp(channel.beta * (score - top)) : score;
      sum += row[b];
    }
    for (int b = 0; b < tokens; ++b) {
      attention[a * tokens + b] = static_cast<double>(softmax ? row[b] / sum : row[b]);
    }
  }
  return attention;
}

/// h_ab = sqrt(1 + delta_ab) e_ab.
inline std::vector<double> scores_of_white(int tokens, const std::vector<double>& white) {
  std::vector<double> scores = white;
  for (int a = 0; a < tokens; ++a) scores[pair_of(tokens, a, a)] *= std::sqrt(2.0);
  return scores;
}

/// ||y - sigma(e)||_F^2 in white coordinates.
inline double plain_square_loss(const Channel& channel, const std::vector<double>& label,
                                const std::vector<double>& white) {
  const std::vector<double> attention = plain_attention(channel, scores_of_white(channel.tokens, white));
  double loss = 0;
  for (std::size_t k = 0; k < label.size(); ++k)
    loss += (label[k] - attention[k]) * (label[k] - attention[k]);
  return loss;
}

/// ||y - sigma(e)||_F^2 + |e - w|^2/(2V).
inline double plain_objective(const Channel& channel, const std::vector<double>& label,
                              const std::vector<double>& center, double susceptibility,
                              const std::vector<double>& white) {
  double distance = 0;
  for (std::size_t k = 0; k < white.size(); ++k) distance += (white[k] - center[k]) * (white[k] - center[k]);
  return plain_square_loss(channel, label, white) + distance / (2 * susceptibility);
}

/// Gradient in e of ||y - sigma(e)||_F^2, by the chain rule written out in full T x T Jacobians.
inline std::vector<double> plain_gradient(const Channel& channel, const std::vector<double>& label,
                                          const std::vector<double>& white) {
  const int tokens = channel.tokens;
  const std::vector<double> attention = plain_attention(channel, scores_of_white(tokens, white));
  std::vector<double> gradient(white.size(), 0.0);
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) {
      for (int c = 0; c < tokens; ++c) {
        const double jacobian =
            attention[a * tokens + b] * ((b == c ? 1.0 : 0.0) - attention[a * tokens + c]);
        const double slope = channel.beta * (a == c ? std::sqrt(2.0) : 1.0);
        gradient[pair_of(tokens, a, c)] +=
            2 * (attention[a * tokens + b] - label[a * tokens + b]) * jacobian * slope;
      }
    }
  }
  return gradient;
}

}  // namespace qklab::test
