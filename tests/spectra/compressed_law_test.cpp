#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "qklab/core/error.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/spectra/free_convolution.hpp"

namespace qklab {
namespace {

double sum(const DiscreteLaw& law, int power) {
  double total = 0;
  for (std::size_t i = 0; i < law.locations.size(); ++i) {
    total += law.masses[i] * std::pow(law.locations[i], power);
  }
  return total;
}

TEST(CompressedLaw, KeepsMassAndMoments) {
  const std::vector<double> s = power_law_eigenvalues({0.75, 0}, 20000);
  const DiscreteLaw full = empirical_law(s);
  const DiscreteLaw few = compressed_law(s, 1000);
  EXPECT_LT(few.locations.size(), 1400U);
  for (int power = 0; power < 8; ++power) EXPECT_NEAR(sum(few, power) / sum(full, power), 1, 1e-11);
}

TEST(CompressedLaw, ShortAndFlatListsStayAsTheyAre) {
  const std::vector<double> s{5, 3, 3, 2, 0};
  const DiscreteLaw law = compressed_law(s, 0);
  EXPECT_EQ(law.locations, empirical_law(s).locations);
  EXPECT_EQ(law.masses, empirical_law(s).masses);
  EXPECT_THROW(compressed_law({}, 10), InvalidParameter);
}

class CompressedFreeConvolution : public ::testing::TestWithParam<double> {};

// The integrals of the state evolution, with and without compression, for noise that drowns most modes and
// noise that leaves hundreds of them isolated.
TEST_P(CompressedFreeConvolution, GivesTheSameIntegrals) {
  const double delta = GetParam();
  const std::vector<double> s = power_law_eigenvalues({1.0, 0}, 20000);
  const FreeConvolution full(empirical_law(s), delta);
  const FreeConvolution few(compressed_law(s, 1000), delta);
  for (double cut : {0.5 * delta, 1.2 * delta, 1.9 * delta}) {
    EXPECT_NEAR(few.mass_above(cut) / full.mass_above(cut), 1, 1e-9);
    const auto integral = [cut](const FreeConvolution& mu) {
      double value = 0;
      for (const ContourNode& node : mu.contour_above(cut)) {
        value -= ((node.z - cut) * node.g * node.g * node.dz).imag();
      }
      return value;
    };
    EXPECT_NEAR(integral(few) / integral(full), 1, 1e-9);
    EXPECT_NEAR(few.density(cut) / full.density(cut), 1, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Noise, CompressedFreeConvolution, ::testing::Values(3.0, 0.5, 0.1));

}  // namespace
}  // namespace qklab
