#include "qklab/core/random.hpp"

#include <algorithm>

#include "normal_numbers.hpp"
#include "philox.hpp"

namespace qklab {
namespace {

/// Words of a bulk of normals, some blocks of Philox at once.
constexpr std::size_t bulk = 256;

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t index)
    : key_{seed, static_cast<std::uint64_t>(purpose)}, counter_{0, index, 0, 0} {}

void RandomStream::refill() {
  philox(key_, counter_, 1, block_.data());
  ++counter_[0];
  used_ = 0;
}

std::uint64_t RandomStream::bits() {
  if (used_ == 4) refill();
  return block_[used_++];
}

double RandomStream::uniform() {
  // The half unit keeps the value off 0 and 1.
  return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52;
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const std::array<std::uint64_t, 2> words{bits(), bits()};
  std::array<double, 2> pair;
  normal_numbers(words.data(), 2, pair.data());
  spare_ = pair[1];
  has_spare_ = true;
  return pair[0];
}

void RandomStream::fill_normal(std::span<double> values) {
  std::size_t i = 0;
  // Whole blocks at once give what one number after another would.
  while (i < values.size() && (has_spare_ || used_ != 4)) values[i++] = normal();
  std::array<std::uint64_t, bulk> words;
  while (values.size() - i >= block_.size()) {
    const std::size_t blocks = std::min(bulk, values.size() - i) / block_.size();
    const std::size_t count = blocks * block_.size();
    philox(key_, counter_, blocks, words.data());
    counter_[0] += blocks;
    normal_numbers(words.data(), count, values.data() + i);
    i += count;
  }
  while (i < values.size()) values[i++] = normal();
}

void RandomStream::fill_normal(std::span<float> values) {
  std::array<double, bulk> exact;
  for (std::size_t i = 0; i < values.size(); i += bulk) {
    const auto part = values.subspan(i, std::min(bulk, values.size() - i));
    fill_normal(std::span<double>(exact).first(part.size()));
    std::transform(exact.begin(), exact.begin() + static_cast<std::ptrdiff_t>(part.size()), part.begin(),
                   [](double value) { return static_cast<float>(value); });
  }
}

}  // namespace qklab
