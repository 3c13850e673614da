#include "qklab/core/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace qklab {

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t index)
    : key_{seed, static_cast<std::uint64_t>(purpose)}, counter_{0, index, 0, 0} {}

void RandomStream::refill() {
  const r123::Philox4x64::ctr_type counter{{counter_[0], counter_[1], counter_[2], counter_[3]}};
  const r123::Philox4x64::key_type key{{key_[0], key_[1]}};
  const auto block = r123::Philox4x64()(counter, key);
  for (int i = 0; i < 4; ++i) block_[i] = block[i];
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
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void RandomStream::fill_normal(std::span<double> values) {
  for (double& value : values) value = normal();
}

void RandomStream::fill_normal(std::span<float> values) {
  for (float& value : values) value = static_cast<float>(normal());
}

}  // namespace qklab
