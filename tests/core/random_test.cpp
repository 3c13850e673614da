#include "qklab/core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace qklab {
namespace {

TEST(RandomStream, ReproducesThePublishedPhiloxVector) {
  // Random123 known-answer test philox4x64-10 with key 0 and counter 0.
  RandomStream stream(0, Purpose::teacher, 0);
  EXPECT_EQ(stream.bits(), 0x16554d9eca36314cULL);
  EXPECT_EQ(stream.bits(), 0xdb20fe9d672d0fdcULL);
  EXPECT_EQ(stream.bits(), 0xd7e772cee186176bULL);
  EXPECT_EQ(stream.bits(), 0x7e68b68aec7ba23bULL);
}

TEST(RandomStream, SameTripleSameNumbers) {
  RandomStream first(7, Purpose::tokens, 41);
  RandomStream second(7, Purpose::tokens, 41);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first.normal(), second.normal());
}

TEST(RandomStream, SeedPurposeAndIndexAllMatter) {
  const double reference = RandomStream(7, Purpose::tokens, 41).normal();
  EXPECT_NE(reference, RandomStream(8, Purpose::tokens, 41).normal());
  EXPECT_NE(reference, RandomStream(7, Purpose::student, 41).normal());
  EXPECT_NE(reference, RandomStream(7, Purpose::tokens, 42).normal());
}

TEST(RandomStream, FloatsAreRoundedDoubles) {
  std::vector<double> doubles(31);
  std::vector<float> floats(31);
  RandomStream(3, Purpose::tokens, 5).fill_normal(doubles);
  RandomStream(3, Purpose::tokens, 5).fill_normal(floats);
  for (std::size_t i = 0; i < doubles.size(); ++i) EXPECT_EQ(floats[i], static_cast<float>(doubles[i]));
}

TEST(RandomStream, NormalMomentsWithinTheirStandardErrors) {
  constexpr int count = 400000;
  double sum[5] = {};
  for (int index = 0; index < count / 100; ++index) {
    RandomStream stream(11, Purpose::probe, static_cast<std::uint64_t>(index));
    for (int i = 0; i < 100; ++i) {
      const double x = stream.normal();
      for (int k = 1; k <= 4; ++k) sum[k] += std::pow(x, k) / count;
    }
  }
  const double unit = 1 / std::sqrt(count);
  EXPECT_NEAR(sum[1], 0, 4 * unit);
  EXPECT_NEAR(sum[2], 1, 4 * std::sqrt(2.0) * unit);
  EXPECT_NEAR(sum[3], 0, 4 * std::sqrt(15.0) * unit);
  EXPECT_NEAR(sum[4], 3, 4 * std::sqrt(96.0) * unit);
}

TEST(RandomStream, NeighbouringStreamsAreUncorrelated) {
  constexpr int count = 100000;
  double correlation = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    correlation += RandomStream(1, Purpose::probe, index).normal() *
                   RandomStream(1, Purpose::probe, index + 1).normal() / count;
  }
  EXPECT_NEAR(correlation, 0, 4 / std::sqrt(count));
}

TEST(RandomStream, UniformStaysInsideTheOpenInterval) {
  RandomStream stream(2, Purpose::probe, 0);
  for (int i = 0; i < 10000; ++i) {
    const double u = stream.uniform();
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
  }
}

}  // namespace
}  // namespace qklab
