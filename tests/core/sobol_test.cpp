#include "qklab/core/sobol.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "qklab/core/error.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab {
namespace {

constexpr int count = 1024;

TEST(ScrambledSobol, EveryCoordinateHasOnePointInEachStratum) {
  constexpr int dimension = 46;
  const auto points = scrambled_sobol(dimension, count, 1, 0);
  for (int k = 0; k < dimension; ++k) {
    std::vector<int> hits(count);
    for (int i = 0; i < count; ++i) ++hits[static_cast<int>(points[k * count + i] * count)];
    for (int h : hits) EXPECT_EQ(h, 1) << "coordinate " << k;
  }
}

TEST(ScrambledSobol, FirstTwoCoordinatesFormAZeroTNet) {
  const auto points = scrambled_sobol(2, count, 5, 3);
  for (int columns = 1; columns <= count; columns *= 2) {
    const int rows = count / columns;
    std::set<std::pair<int, int>> boxes;
    for (int i = 0; i < count; ++i) {
      boxes.emplace(static_cast<int>(points[i] * columns), static_cast<int>(points[count + i] * rows));
    }
    EXPECT_EQ(boxes.size(), static_cast<std::size_t>(count)) << columns << " columns";
  }
}

TEST(ScrambledSobol, ScramblingsDifferAndAreReproducible) {
  const auto first = scrambled_sobol(3, 64, 1, 0);
  EXPECT_EQ(first, scrambled_sobol(3, 64, 1, 0));
  EXPECT_NE(first, scrambled_sobol(3, 64, 1, 1));
  EXPECT_NE(first, scrambled_sobol(3, 64, 2, 0));
}

TEST(ScrambledSobol, EachPointIsUniformOverScramblings) {
  // Mean over scramblings of the same point: 1/2 with variance 1/12 if the scrambling is a proper
  // randomisation.
  constexpr int scramblings = 400;
  for (int point : {0, 1, 7}) {
    double mean = 0;
    for (int s = 0; s < scramblings; ++s) mean += scrambled_sobol(2, 16, 9, s)[16 + point] / scramblings;
    EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(1.0 / 12 / scramblings)) << "point " << point;
  }
}

TEST(ScrambledSobol, StandardErrorCoversTheTruth) {
  // E exp(a.x), x standard normal in 4 dimensions, has a closed form.
  const double a[4] = {0.5, -0.3, 0.2, 0.4};
  double exponent = 0;
  for (double c : a) exponent += c * c / 2;
  int covered = 0;
  constexpr int trials = 60;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> means;
    for (int s = 0; s < 8; ++s) {
      const auto x = scrambled_sobol_normals(4, count, 100 + trial, s);
      double mean = 0;
      for (int i = 0; i < count; ++i) {
        double dot = 0;
        for (int k = 0; k < 4; ++k) dot += a[k] * x[k * count + i];
        mean += std::exp(dot) / count;
      }
      means.push_back(mean);
    }
    const Estimate estimate = mean_and_error(means);
    EXPECT_LT(estimate.se, 3e-3);
    covered +=
        std::abs(estimate.value - std::exp(exponent)) < 2.365 * estimate.se;  // 95 % of Student's t, 7 d.o.f.
  }
  EXPECT_GE(covered, 51);  // binomial(60, 0.95) is below 51 with probability 2e-3
}

TEST(ScrambledSobol, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(checked(QmcOptions{.log2_points = 3}), InvalidParameter);
  EXPECT_THROW(checked(QmcOptions{.log2_points = 30}), InvalidParameter);
  EXPECT_THROW(checked(QmcOptions{.scramblings = 1}), InvalidParameter);
  EXPECT_THROW(checked(QmcOptions{.scramblings = 6}), InvalidParameter);
  EXPECT_THROW(scrambled_sobol(0, 16, 1, 0), InvalidParameter);
  EXPECT_THROW(scrambled_sobol(2, 100, 1, 0), InvalidParameter);
}

}  // namespace
}  // namespace qklab
