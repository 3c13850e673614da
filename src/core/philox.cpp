#include "philox.hpp"

#include <Random123/philox.h>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/core/philox.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// Both halves of the 128 bits of a * b, from products of 32 bits: vectors have no others.
template <class D, class V>
void multiply(D d, V a, std::uint64_t b, V& high, V& low) {
  const hn::Repartition<std::uint32_t, D> halves;
  const auto product = [&](V x, std::uint64_t y) {
    return hn::MulEven(hn::BitCast(halves, x), hn::BitCast(halves, hn::Set(d, y)));
  };
  const auto mask = hn::Set(d, 0xffffffffU);
  const V a_high = hn::ShiftRight<32>(a);
  const V low_low = product(a, b & 0xffffffffU);
  const V middle = hn::Add(product(a_high, b & 0xffffffffU), hn::ShiftRight<32>(low_low));
  const V sum = hn::Add(product(a, b >> 32), hn::And(middle, mask));
  high = hn::Add(hn::Add(product(a_high, b >> 32), hn::ShiftRight<32>(middle)), hn::ShiftRight<32>(sum));
  low = hn::Or(hn::ShiftLeft<32>(sum), hn::And(low_low, mask));
}

/// Two vectors of counters, one a lane: each hides what the other waits for.
constexpr std::size_t together = 2;

/// Draws as many whole sets of lanes as there are and returns the blocks that were drawn. Two lanes would be
/// slower than the processor's own product of 64 bits.
std::size_t lanes_of_blocks(const PhiloxKey& key, const PhiloxCounter& counter, std::size_t blocks,
                            std::uint64_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  using Vector = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t block = 0;
  if (lanes < 4) return block;
  for (; block + together * lanes <= blocks; block += together * lanes) {
    Vector x[4][together];
    for (std::size_t j = 0; j < together; ++j) {
      x[0][j] = hn::Iota(d, counter[0] + block + j * lanes);
      for (int word = 1; word < 4; ++word) x[word][j] = hn::Set(d, counter[word]);
    }
    PhiloxKey round_key = key;
    for (int round = 0; round < philox4x64_rounds; ++round) {
      for (std::size_t j = 0; j < together; ++j) {
        Vector high0;
        Vector low0;
        Vector high2;
        Vector low2;
        multiply(d, x[0][j], PHILOX_M4x64_0, high0, low0);
        multiply(d, x[2][j], PHILOX_M4x64_1, high2, low2);
        x[0][j] = hn::Xor(hn::Xor(high2, x[1][j]), hn::Set(d, round_key[0]));
        x[2][j] = hn::Xor(hn::Xor(high0, x[3][j]), hn::Set(d, round_key[1]));
        x[1][j] = low2;
        x[3][j] = low0;
      }
      round_key[0] += PHILOX_W64_0;
      round_key[1] += PHILOX_W64_1;
    }
    for (std::size_t j = 0; j < together; ++j) {
      hn::StoreInterleaved4(x[0][j], x[1][j], x[2][j], x[3][j], d, words + 4 * (block + j * lanes));
    }
  }
  return block;
}

#else

std::size_t lanes_of_blocks(const PhiloxKey& /*key*/, const PhiloxCounter& /*counter*/,
                            std::size_t /*blocks*/, std::uint64_t* /*words*/) {
  return 0;
}

#endif

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab {

HWY_EXPORT(lanes_of_blocks);

void philox(const PhiloxKey& key, const PhiloxCounter& counter, std::size_t blocks, std::uint64_t* words) {
  std::size_t block = HWY_DYNAMIC_DISPATCH(lanes_of_blocks)(key, counter, blocks, words);
  for (; block < blocks; ++block) {
    const auto four =
        r123::Philox4x64()({{counter[0] + block, counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
    std::copy(four.begin(), four.end(), words + 4 * block);
  }
}

}  // namespace qklab
#endif
