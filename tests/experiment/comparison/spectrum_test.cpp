#include "qklab/experiment/comparison/spectrum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qklab/core/random.hpp"

namespace qklab::experiment {
namespace {

double trapezoid(const DensityCurve& curve) {
  double area = 0;
  for (std::size_t i = 1; i < curve.x.size(); ++i) {
    area += 0.5 * (curve.p[i] + curve.p[i - 1]) * (curve.x[i] - curve.x[i - 1]);
  }
  return area;
}

theory::StudentSpectrum spectrum(Law teacher, double delta, double threshold, double cut) {
  theory::StudentSpectrum spectrum;
  spectrum.teacher = std::move(teacher);
  spectrum.delta = delta;
  spectrum.threshold = threshold;
  spectrum.cut = cut;
  spectrum.scale = 0.8;
  return spectrum;
}

/// One interval cut at zero, one that the width ratio cuts above the threshold, and several intervals with a
/// gap.
std::vector<theory::StudentSpectrum> spectra() {
  return {spectrum(WishartLaw{0.5}, 0.4, 0.2, 0.2), spectrum(WishartLaw{0.5}, 0.4, 0.2, 0.9),
          spectrum(DiscreteLaw{{0.0, 1.0, 2.0}, {0.5, 0.3, 0.2}}, 0.15, 0.1, 0.1)};
}

TEST(Density, IntegratesToTheFractionOfNonZeroEigenvalues) {
  for (const theory::StudentSpectrum& law : spectra()) {
    EXPECT_NEAR(trapezoid(eigenvalue_density(law, 400)), 1 - zero_fraction(law), 1e-4);
    EXPECT_NEAR(trapezoid(singular_value_density(law, 400)), 1 - zero_fraction(law), 1e-4);
  }
}

TEST(Density, ConvergesWithTheSquareOfTheNumberOfPoints) {
  const theory::StudentSpectrum law = spectra()[0];
  const double mass = 1 - zero_fraction(law);
  const double coarse = std::abs(trapezoid(eigenvalue_density(law, 100)) - mass);
  const double fine = std::abs(trapezoid(eigenvalue_density(law, 400)) - mass);
  EXPECT_LT(coarse, 10.0 / (100 * 100));
  EXPECT_LT(fine, 10.0 / (400 * 400));
}

TEST(Density, ShowsTheInnerValueWhereTheWidthRatioCuts) {
  const DensityCurve curve = eigenvalue_density(spectra()[1], 100);
  EXPECT_GT(curve.p.front(), 0.1);
  EXPECT_NEAR(curve.x.front(), 0.8 * (0.9 - 0.2), 1e-12);
}

TEST(Density, OfTheZeroSolutionIsEmpty) {
  theory::StudentSpectrum zero = spectra()[0];
  zero.scale = 0;
  EXPECT_TRUE(eigenvalue_density(zero, 100).x.empty());
  EXPECT_TRUE(singular_value_density(zero, 100).x.empty());
}

TEST(Histogram, HasTheAreaOfTheNonZeroFraction) {
  std::vector<double> eigenvalues(50, 1e-9);
  RandomStream stream(3, Purpose::student);
  std::vector<double> normal(150);
  stream.fill_normal(std::span<double>(normal));
  for (double x : normal) eigenvalues.push_back(2 + std::abs(x));
  const Histogram bars = histogram(eigenvalues);
  ASSERT_EQ(bars.bin_edges.size(), bars.p.size() + 1);
  EXPECT_GE(bars.p.size(), 10u);
  EXPECT_LE(bars.p.size(), 80u);
  const double width = bars.bin_edges[1] - bars.bin_edges[0];
  EXPECT_NEAR(std::accumulate(bars.p.begin(), bars.p.end(), 0.0) * width, 0.75, 1e-12);
  EXPECT_EQ(bars.bin_edges.front(), 0.0);
  EXPECT_NEAR(bars.bin_edges.back(), std::ranges::max(eigenvalues), 1e-12);
}

TEST(Histogram, OfNothingIsEmpty) {
  EXPECT_TRUE(histogram({}).p.empty());
  EXPECT_TRUE(histogram({0, 0}).p.empty());
  EXPECT_EQ(histogram({1}).p.size(), 10u);
}

}  // namespace
}  // namespace qklab::experiment
