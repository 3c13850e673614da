#pragma once

#include <cstdint>
#include <span>

#include "qklab/core/random.hpp"

namespace qklab::lab {

/// Fills `tokens` with those of the samples first .. first + count - 1, of equally many numbers each.
template <class Real>
void draw_tokens(std::uint64_t seed, Purpose purpose, long first, int count, std::span<Real> tokens) {
  const std::size_t entries = tokens.size() / count;
  for (int s = 0; s < count; ++s) {
    RandomStream stream(seed, purpose, static_cast<std::uint64_t>(first + s));
    stream.fill_normal(tokens.subspan(s * entries, entries));
  }
}

}  // namespace qklab::lab
