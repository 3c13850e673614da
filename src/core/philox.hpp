#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace qklab {

using PhiloxKey = std::array<std::uint64_t, 2>;
using PhiloxCounter = std::array<std::uint64_t, 4>;

/// Philox4x64-10 (Salmon, Moraes, Dror and Shaw, SC 2011): the four words of each of `blocks` counters, of
/// which the first is `counter` and the lowest word goes up by one from one to the next.
void philox(const PhiloxKey& key, const PhiloxCounter& counter, std::size_t blocks, std::uint64_t* words);

}  // namespace qklab
