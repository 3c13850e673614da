#include "qklab/core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "hwy/targets.h"

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

TEST(RandomStream, BulksArePublishedPhiloxToo) {
  // Words of many counters at once, by way of normals: the same pairs as one after another from bits().
  RandomStream words(5, Purpose::tokens, 17);
  std::vector<double> normals(1000);
  RandomStream(5, Purpose::tokens, 17).fill_normal(normals);
  for (std::size_t i = 0; i < normals.size(); i += 2) {
    const auto u = static_cast<long double>(words.uniform());
    const auto v = static_cast<long double>(words.uniform());
    const long double radius = std::sqrt(-2 * std::log(u));
    const long double angle = 2 * std::numbers::pi_v<long double> * v;
    ASSERT_NEAR(normals[i], static_cast<double>(radius * std::cos(angle)),
                1e-15 * static_cast<double>(radius));
    ASSERT_NEAR(normals[i + 1], static_cast<double>(radius * std::sin(angle)),
                1e-15 * static_cast<double>(radius));
  }
}

TEST(RandomStream, BulksAreOneNumberAfterAnother) {
  for (std::size_t before : {0, 1, 2, 3}) {
    for (std::size_t count : {0, 1, 5, 8, 63, 64, 67, 1001}) {
      RandomStream one(9, Purpose::tokens, 2);
      RandomStream bulk(9, Purpose::tokens, 2);
      for (std::size_t i = 0; i < before; ++i) ASSERT_EQ(bulk.normal(), one.normal());
      std::vector<double> values(count);
      bulk.fill_normal(values);
      for (double value : values) ASSERT_EQ(value, one.normal());
      ASSERT_EQ(bulk.normal(), one.normal());
    }
  }
  RandomStream one(9, Purpose::tokens, 2);
  RandomStream bulk(9, Purpose::tokens, 2);
  EXPECT_EQ(bulk.bits(), one.bits());  // half of a pair
  std::vector<double> values(9);
  bulk.fill_normal(values);
  for (double value : values) EXPECT_EQ(value, one.normal());
}

TEST(RandomStream, EveryInstructionSetGivesTheSameNumbers) {
  const auto draw = [] {
    std::vector<double> normals(999);
    RandomStream(4, Purpose::probe, 8).fill_normal(normals);
    return normals;
  };
  const std::vector<double> best = draw();
  const std::int64_t supported = hwy::SupportedTargets();
  // The lowest bit is the best; without it comes the next.
  for (std::int64_t left = supported & (supported - 1); left != 0; left &= left - 1) {
    hwy::DisableTargets(supported & ~left);
    EXPECT_EQ(draw(), best) << hwy::TargetName(left & -left);
  }
  hwy::DisableTargets(0);
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
