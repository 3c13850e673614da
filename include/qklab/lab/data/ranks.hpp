#pragma once

#include <functional>
#include <span>

namespace qklab::lab {

/// Adds to `part`, the entries first, first + 1, ... of a sum, what this rank has there.
using AddPart = std::function<void(long first, std::span<double> part)>;

/// The processes that share the samples of a training run, as one of them sees it. Each has a contiguous
/// range of the samples; what is computed beside the passes over the data every rank computes alike.
struct Ranks {
  int rank = 0;
  int size = 1;
  int on_this_machine = 1;  ///< ranks that share its memory

  /// total = 0 + what rank 0 adds + what rank 1 adds + ..., in this order: a sum over the samples is bitwise
  /// the same for any number of ranks, and on every one of them. All must call it equally often, for equally
  /// many entries.
  std::function<void(std::span<double> total, const AddPart& add)> sum = sum_alone;

  static void sum_alone(std::span<double> total, const AddPart& add);
};

/// Replaces each of the values by its sum over the ranks.
void sum_over_ranks(const Ranks& ranks, std::span<double> values);

}  // namespace qklab::lab
