#include "qklab/core/sobol.hpp"

#include <bit>
#include <boost/math/special_functions/erf.hpp>
#include <boost/random/sobol.hpp>
#include <numbers>

#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"

namespace qklab {
namespace {

std::uint32_t reversed_bits(std::uint32_t x) {
  x = ((x >> 1) & 0x55555555U) | ((x & 0x55555555U) << 1);
  x = ((x >> 2) & 0x33333333U) | ((x & 0x33333333U) << 2);
  x = ((x >> 4) & 0x0f0f0f0fU) | ((x & 0x0f0f0f0fU) << 4);
  x = ((x >> 8) & 0x00ff00ffU) | ((x & 0x00ff00ffU) << 8);
  return std::rotl(x, 16);
}

/// Nested uniform scrambling of a digit string given lowest digit first: each bit is flipped by a hash of the
/// bits below it, which is what makes the result an Owen scrambling of the reversed string.
std::uint32_t nested_permutation(std::uint32_t x, std::uint32_t seed) {
  x ^= x * 0x3d20adeaU;
  x += seed;
  x *= (seed >> 16) | 1U;
  x ^= x * 0x05526c56U;
  x ^= x * 0x53a22864U;
  return x;
}

/// Middle of the 2^-32 cell, so that neither 0 nor 1 is ever returned.
double unit_interval(std::uint32_t digits) {
  return (digits + 0.5) * 0x1p-32;
}

double normal_quantile(double u) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u);
}

void check_net(int dimension, int count) {
  if (dimension < 1 || dimension > 3667) {
    throw InvalidParameter("sobol dimension", dimension, "must be in 1..3667");
  }
  if (count < 1 || !std::has_single_bit(static_cast<unsigned>(count))) {
    throw InvalidParameter("sobol count", count, "must be a power of two");
  }
}

}  // namespace

QmcOptions checked(QmcOptions options) {
  if (options.log2_points < 6 || options.log2_points > 24) {
    throw InvalidParameter("log2_points", options.log2_points,
                           "the number of sampling points must be 2^6..2^24");
  }
  const auto scramblings = static_cast<unsigned>(options.scramblings);
  if (options.scramblings < 2 || !std::has_single_bit(scramblings) ||
      options.scramblings > (1 << (options.log2_points - 4))) {
    throw InvalidParameter("scramblings", options.scramblings,
                           "must be a power of two, at least 2, that leaves 16 points or more for each");
  }
  return options;
}

std::vector<double> scrambled_sobol(int dimension, int count, std::uint64_t seed, std::uint64_t scrambling) {
  check_net(dimension, count);
  RandomStream stream(seed, Purpose::scrambling, scrambling);
  std::vector<std::uint32_t> hashes(static_cast<std::size_t>(dimension));
  for (auto& hash : hashes) hash = static_cast<std::uint32_t>(stream.bits() >> 32);

  // Boost's engine leaves out the point 0, without which the first 2^k points are not a net: start with it.
  boost::random::sobol_engine<std::uint32_t, 32> engine(static_cast<std::size_t>(dimension));
  std::vector<double> points(static_cast<std::size_t>(dimension) * count);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < dimension; ++k) {
      const std::uint32_t digits = i == 0 ? 0U : static_cast<std::uint32_t>(engine());
      const std::uint32_t scrambled = reversed_bits(nested_permutation(reversed_bits(digits), hashes[k]));
      points[static_cast<std::size_t>(k) * count + i] = unit_interval(scrambled);
    }
  }
  return points;
}

std::vector<double> scrambled_sobol_normals(int dimension, int count, std::uint64_t seed,
                                            std::uint64_t scrambling) {
  std::vector<double> points = scrambled_sobol(dimension, count, seed, scrambling);
  for (double& value : points) value = normal_quantile(value);
  return points;
}

}  // namespace qklab
