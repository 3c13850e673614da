#include "hardmax.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace qklab {
namespace {

/// The place of h_ab among the stored scores.
int score_index(ScoreLayout layout, int tokens, int a, int b) {
  if (layout == ScoreLayout::full) return a * tokens + b;
  const int low = a < b ? a : b;
  const int high = a < b ? b : a;
  return low * tokens - low * (low - 1) / 2 + high - low;
}

}  // namespace

template <class Real>
void hardmax_attention(int tokens, int count, const AttentionRows<Real>& rows) {
  const auto stride = static_cast<std::size_t>(rows.stride);
  for (int sample = 0; sample < count; ++sample) {
    for (int a = 0; a < tokens; ++a) {
      int largest = 0;
      Real top = -std::numeric_limits<Real>::infinity();
      bool is_known = true;
      for (int b = 0; b < tokens; ++b) {
        const Real score = rows.scores[score_index(rows.layout, tokens, a, b) * stride + sample];
        is_known = is_known && !std::isnan(score);
        if (score > top) {
          top = score;
          largest = b;
        }
      }
      for (int b = 0; b < tokens; ++b) {
        const Real entry = b == largest ? Real{1} : Real{0};
        rows.attention[(a * tokens + b) * stride + sample] =
            is_known ? entry : std::numeric_limits<Real>::quiet_NaN();
      }
    }
  }
}

template void hardmax_attention<float>(int, int, const AttentionRows<float>&);
template void hardmax_attention<double>(int, int, const AttentionRows<double>&);

}  // namespace qklab
