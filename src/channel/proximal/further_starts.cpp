#include "further_starts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace qklab {
namespace {

int pair_index(int tokens, int a, int b) {
  if (a > b) std::swap(a, b);
  return a * tokens - a * (a - 1) / 2 + b - a;
}

}  // namespace

std::vector<TokenSet> row_choices(int tokens) {
  std::vector<TokenSet> choices{TokenSet(tokens, 1)};
  for (int a = 0; a < tokens; ++a) {
    choices.emplace_back(tokens, 0).at(a) = 1;
    if (tokens > 2) choices.emplace_back(tokens, 1).at(a) = 0;
  }
  return choices;
}

void preimage_of_rows(const Channel& channel, const PointRows& label, const PointRows& center,
                      const TokenSet& chosen, int point, PointRows& start) {
  const int tokens = channel.tokens;
  // Labels of saturated rows are softened: on the plateau beyond, Newton sees no curvature and leaps over.
  const double lowest = 0.4 / tokens;
  const auto score_weight = [](int a, int b) { return a == b ? std::numbers::sqrt2 : 1.0; };
  std::vector<double> logits(static_cast<std::size_t>(tokens) * tokens);
  for (int a = 0, entry = 0; a < tokens; ++a) {
    double mean = 0;
    for (int b = 0; b < tokens; ++b) {
      const double wanted =
          chosen[a] ? std::log(std::clamp(label.row(a * tokens + b)[point], lowest, 1.0)) / channel.beta
                    : score_weight(a, b) * center.row(pair_index(tokens, a, b))[point];
      logits[a * tokens + b] = wanted;
      mean += wanted / tokens;
    }
    for (int b = 0; b < tokens; ++b, ++entry) logits[entry] -= mean;
  }
  // L 1 = 0, so the row means of S are the column means of L.
  std::vector<double> mean(tokens, 0.0);
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) mean[b] += logits[a * tokens + b] / tokens;
  }
  for (int a = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b) {
      const double sum = logits[a * tokens + b] + logits[b * tokens + a];
      start.row(pair_index(tokens, a, b))[point] = 0.5 * (sum + mean[a] + mean[b]) / score_weight(a, b);
    }
  }
}

}  // namespace qklab
