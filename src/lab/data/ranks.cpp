#include "qklab/lab/data/ranks.hpp"

#include <algorithm>
#include <vector>

namespace qklab::lab {

void Ranks::sum_alone(std::span<double> total, const AddPart& add) {
  std::ranges::fill(total, 0.0);
  add(0, total);
}

void sum_over_ranks(const Ranks& ranks, std::span<double> values) {
  if (ranks.size == 1) return;
  const std::vector<double> own(values.begin(), values.end());
  ranks.sum(values, [&own](long first, std::span<double> part) {
    for (std::size_t i = 0; i < part.size(); ++i) part[i] += own[first + i];
  });
}

}  // namespace qklab::lab
