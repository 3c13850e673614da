#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace qklab {

/// What a random stream is for. Streams of different purposes never share numbers.
enum class Purpose : std::uint64_t {
  teacher,
  student,
  tokens,
  noise_in,
  noise_out,
  measurement,
  scrambling,
  probe
};

/// Random numbers as a pure function of (seed, purpose, index): Philox4x64-10 in counter mode.
///
/// The same triple gives the same numbers on any thread, in any order, on any machine; distinct triples are
/// independent. Typical use: `index` = sample number, so that data can be regenerated instead of stored.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t index = 0);

  /// 64 uniform bits.
  std::uint64_t bits();
  /// Uniform in (0, 1), 53 bits, never 0 or 1.
  double uniform();
  /// Standard normal (Box-Muller).
  double normal();
  /// Fills with iid standard normals; float values are the rounded doubles of the same stream.
  void fill_normal(std::span<double> values);
  void fill_normal(std::span<float> values);

 private:
  void refill();

  std::array<std::uint64_t, 2> key_;
  std::array<std::uint64_t, 4> counter_;
  std::array<std::uint64_t, 4> block_{};
  int used_ = 4;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace qklab
