#include "white_scores.hpp"

#include <cstddef>
#include <numbers>

namespace qklab::lab {
namespace {

constexpr double diagonal = 1 / std::numbers::sqrt2;

/// A row of `count` values.
struct RowsOf {
  int count;
  std::size_t at(int row) const { return static_cast<std::size_t>(row) * count; }
};

}  // namespace

void scores_to_white(ScoreLayout layout, int tokens, int count, const double* scores, double* white) {
  const RowsOf rows{count};
  int link = tokens * (tokens + 1) / 2;
  for (int a = 0, pair = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, ++pair) {
      const bool full = layout == ScoreLayout::full;
      const double* upper = scores + rows.at(full ? a * tokens + b : pair);
      double* even = white + rows.at(pair);
      if (a == b) {
        for (int s = 0; s < count; ++s) even[s] = diagonal * upper[s];
      } else if (!full) {
        for (int s = 0; s < count; ++s) even[s] = upper[s];
      } else {
        const double* lower = scores + rows.at(b * tokens + a);
        double* odd = white + rows.at(link++);
        for (int s = 0; s < count; ++s) {
          even[s] = (upper[s] + lower[s]) / 2;
          odd[s] = (upper[s] - lower[s]) / 2;
        }
      }
    }
  }
}

void slopes_from_white(ScoreLayout layout, int tokens, int count, const double* white, double* slopes) {
  const RowsOf rows{count};
  int link = tokens * (tokens + 1) / 2;
  for (int a = 0, pair = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, ++pair) {
      const bool full = layout == ScoreLayout::full;
      const double* even = white + rows.at(pair);
      double* upper = slopes + rows.at(full ? a * tokens + b : pair);
      if (a == b) {
        for (int s = 0; s < count; ++s) upper[s] = diagonal * even[s];
      } else if (!full) {
        for (int s = 0; s < count; ++s) upper[s] = even[s];
      } else {
        const double* odd = white + rows.at(link++);
        double* lower = slopes + rows.at(b * tokens + a);
        for (int s = 0; s < count; ++s) {
          upper[s] = (even[s] + odd[s]) / 2;
          lower[s] = (even[s] - odd[s]) / 2;
        }
      }
    }
  }
}

}  // namespace qklab::lab
