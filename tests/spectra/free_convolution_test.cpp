#include "qklab/spectra/free_convolution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using Complex = std::complex<double>;

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string name;
  Law law;
  double delta;
};

std::vector<Case> cases() {
  const std::vector<std::pair<std::string, Law>> laws = {
      {"semicircle", SemicircleLaw{2}},
      {"wishart 0.01", WishartLaw{0.01}},
      {"wishart 0.5", WishartLaw{0.5}},
      {"wishart 0.99", WishartLaw{0.99}},
      {"wishart 1", WishartLaw{1}},
      {"wishart 10", WishartLaw{10}},
      {"one atom", DiscreteLaw{{0}, {1}}},
      {"three atoms", DiscreteLaw{{-1, 0, 1.5}, {0.2, 0.5, 0.3}}},
      {"power law", empirical_law(power_law_eigenvalues(PowerLawTeacher{1.25, 0}, 60))},
      {"power law of few modes", empirical_law(power_law_eigenvalues(PowerLawTeacher{0.75, 20}, 60))}};
  std::vector<Case> all;
  for (const auto& [name, law] : laws) {
    const double width = std::max(1.0, hull(law).hi - hull(law).lo);
    for (double ratio : {1e-6, 1e-4, 1e-2, 0.1, 0.4, 3.0, 1e3}) {
      all.push_back({name + ", delta/width = " + std::to_string(ratio), law, ratio * width});
    }
  }
  return all;
}

double second_moment(const Case& c) {
  return moment(c.law, 2) + c.delta * c.delta;
}

/// -(1/pi) Im sum z^k g dz.
double contour_moment(const std::vector<ContourNode>& contour, int k) {
  Complex sum = 0;
  for (const ContourNode& node : contour) sum += std::pow(node.z, k) * node.g * node.dz;
  return -sum.imag() / std::numbers::pi;
}

TEST(FreeConvolution, SemicirclesAddTheirVariances) {
  for (double delta : {1e-3, 0.3, 1.0, 20.0}) {
    const double radius = std::hypot(1.5, 2 * delta);
    for (const FreeConvolution& mu :
         {FreeConvolution(SemicircleLaw{1.5}, delta), FreeConvolution(SemicircleLaw{1.5}, delta)}) {
      EXPECT_NEAR(mu.outer_edges().hi, radius, 1e-14 * radius);
      for (double share : {-0.99, -0.3, 0.0, 0.5, 0.9}) {
        const double x = share * radius;
        EXPECT_NEAR(mu.density(x), 2 * std::sqrt(1 - share * share) / (std::numbers::pi * radius),
                    1e-13 / radius);
        EXPECT_NEAR(mu.hilbert(x), 2 * x / (radius * radius), 1e-14 / radius);
      }
    }
  }
}

TEST(FreeConvolution, AnAtomBecomesASemicircle) {
  for (double delta : {1e-6, 0.2, 5.0}) {
    const FreeConvolution mu(DiscreteLaw{{0.25}, {1}}, delta);
    ASSERT_EQ(mu.support().size(), 1);
    EXPECT_NEAR(mu.support()[0].lo, 0.25 - 2 * delta, 1e-15 + 1e-14 * delta);
    EXPECT_NEAR(mu.support()[0].hi, 0.25 + 2 * delta, 1e-15 + 1e-14 * delta);
    EXPECT_NEAR(mu.density(0.25), 1 / (std::numbers::pi * delta), 1e-13 / delta);
    EXPECT_NEAR(mu.mass_above(0.25), 0.5, 1e-14);
  }
}

TEST(FreeConvolution, SubordinationSolvesItsEquationInTheUpperHalfPlane) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    const Interval edges = mu.outer_edges();
    const double margin = 0.1 * (edges.hi - edges.lo);
    for (int i = 0; i <= 59; ++i) {
      const double x = edges.lo - margin + (edges.hi - edges.lo + 2 * margin) * i / 59;
      const Complex omega = mu.subordination(x);
      const auto [g, slope] = stieltjes_and_derivative(c.law, omega);
      const double scale = std::abs(x) + std::abs(omega) + c.delta * c.delta * std::abs(g);
      const double rounding = 1e-15 * scale * (1 + std::abs(1.0 + c.delta * c.delta * slope));
      EXPECT_GE(omega.imag(), 0) << c.name;
      EXPECT_LT(std::abs(omega + c.delta * c.delta * g - x), 2e-15 * scale + rounding)
          << c.name << " x = " << x;
      // Of the roots on the real axis the right one has z' > 0.
      const bool real = omega.imag() == 0;
      EXPECT_TRUE(!real || 1 + c.delta * c.delta * slope.real() > 0) << c.name << " x = " << x;
    }
  }
}

TEST(FreeConvolution, DensityRisesLikeASquareRootFromEveryWishartEdge) {
  for (double kappa0 : {0.01, 0.3, 0.999, 1.0, 1.1, 10.0}) {
    for (double delta : {1e-6, 1e-4, 1e-2, 1.0, 1e2}) {
      const FreeConvolution mu(WishartLaw{kappa0}, delta);
      for (const Interval& interval : mu.support()) {
        const double width = interval.hi - interval.lo;
        for (double share : {1e-16, 1e-15, 1e-14, 1e-13}) {
          EXPECT_GE(mu.density(interval.lo + share * width), 0) << kappa0 << " " << delta;
          EXPECT_GE(mu.density(interval.hi - share * width), 0) << kappa0 << " " << delta;
        }
        // Closer than that the rounding of x is felt; the square root holds up to the next scale of the
        // density.
        const double near = mu.density(interval.hi - 1e-9 * width);
        EXPECT_NEAR(mu.density(interval.hi - 4e-9 * width) / near, 2, 2e-4) << kappa0 << " " << delta;
      }
    }
  }
}

TEST(FreeConvolution, DensityVanishesExactlyOutsideItsSupport) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    const std::vector<Interval> support = mu.support();
    for (const Interval& interval : support) {
      EXPECT_LT(interval.lo, interval.hi) << c.name;
      const double width = interval.hi - interval.lo;
      for (double share : {1e-6, 0.5, 1 - 1e-6}) {
        EXPECT_GT(mu.density(interval.lo + share * width), 0) << c.name;
      }
      const double typical = mu.density(interval.lo + width / 2);
      const double resolution = std::sqrt(1e-15 * (1 + std::abs(interval.hi)) / width);
      EXPECT_LT(mu.density(interval.lo), (1e-7 + 100 * resolution) * typical) << c.name;
      EXPECT_LT(mu.density(interval.hi), (1e-7 + 100 * resolution) * typical) << c.name;
    }
    for (size_t i = 1; i < support.size(); ++i) {
      EXPECT_LT(support[i - 1].hi, support[i].lo) << c.name;
      EXPECT_EQ(mu.density((support[i - 1].hi + support[i].lo) / 2), 0) << c.name;
    }
    EXPECT_DOUBLE_EQ(support.front().lo, mu.outer_edges().lo);
    EXPECT_DOUBLE_EQ(support.back().hi, mu.outer_edges().hi);
    EXPECT_EQ(mu.density(support.back().hi + 1), 0);
    EXPECT_EQ(mu.density(support.front().lo - 1), 0);
  }
}

TEST(FreeConvolution, MassAboveFallsFromOneToZero) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    const Interval edges = mu.outer_edges();
    EXPECT_NEAR(mu.mass_above(-kInfinity), 1, 1e-14) << c.name;
    EXPECT_NEAR(mu.mass_above(edges.lo - 1e-9 * c.delta), 1, 1e-12) << c.name;
    EXPECT_NEAR(mu.mass_above(edges.hi + 1e-9 * c.delta), 0, 1e-12) << c.name;
    EXPECT_EQ(mu.mass_above(kInfinity), 0) << c.name;
    double previous = 1 + 1e-15;
    for (int i = 0; i <= 100; ++i) {
      const double mass = mu.mass_above(edges.lo + (edges.hi - edges.lo) * i / 100);
      EXPECT_LE(mass, previous + 1e-13) << c.name;
      previous = mass;
    }
  }
}

TEST(FreeConvolution, QuantileInvertsMass) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    for (double fraction : {0.9871, 0.6043, 0.2511, 0.0123}) {
      const double x = mu.upper_quantile(fraction);
      const double sensitivity = mu.density(x) * (std::abs(x) + c.delta) * 1e-15;
      EXPECT_NEAR(mu.mass_above(x), fraction, 2e-15 + 4 * sensitivity) << c.name;
    }
  }
}

TEST(FreeConvolution, FractionInAGapGivesItsMiddle) {
  const FreeConvolution atoms(DiscreteLaw{{0, 1, 2}, {0.5, 0.25, 0.25}}, 0.01);
  const std::vector<Interval> support = atoms.support();
  ASSERT_EQ(support.size(), 3);
  EXPECT_DOUBLE_EQ(atoms.upper_quantile(0.25), (support[1].hi + support[2].lo) / 2);
  EXPECT_DOUBLE_EQ(atoms.upper_quantile(0.5), (support[0].hi + support[1].lo) / 2);
  const FreeConvolution wishart(WishartLaw{0.3}, 0.01);
  ASSERT_EQ(wishart.support().size(), 2);
  EXPECT_DOUBLE_EQ(wishart.upper_quantile(0.3), (wishart.support()[0].hi + wishart.support()[1].lo) / 2);
  const FreeConvolution modes(empirical_law(power_law_eigenvalues(PowerLawTeacher{1, 0}, 300)), 1e-3);
  const double cut = modes.upper_quantile(35.0 / 300);
  EXPECT_EQ(modes.density(cut), 0);
  EXPECT_NEAR(modes.mass_above(cut), 35.0 / 300, 1e-14);
}

TEST(FreeConvolution, ContourGivesMassMeanAndSecondMoment) {
  for (const Case& c : cases()) {
    const std::vector<ContourNode> contour = FreeConvolution(c.law, c.delta).contour_above(-kInfinity);
    const double spread = std::sqrt(second_moment(c));
    EXPECT_NEAR(contour_moment(contour, 0), 1, 1e-14) << c.name;
    EXPECT_NEAR(contour_moment(contour, 1), moment(c.law, 1), 3e-14 * spread) << c.name;
    EXPECT_NEAR(contour_moment(contour, 2), second_moment(c), 2e-13 * second_moment(c)) << c.name;
  }
}

TEST(FreeConvolution, ContourAboveACutAgreesWithClosedFormMass) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    for (double fraction : {0.95, 0.5, 0.31, 0.02}) {
      const double cut = mu.upper_quantile(fraction);
      const double sensitivity = mu.density(cut) * (std::abs(cut) + c.delta) * 1e-15;
      EXPECT_NEAR(contour_moment(mu.contour_above(cut), 0), mu.mass_above(cut), 1e-14 + 10 * sensitivity)
          << c.name;
    }
  }
}

TEST(FreeConvolution, ContourIsEmptyAboveTheSupport) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    EXPECT_TRUE(mu.contour_above(mu.outer_edges().hi + 1e-3 * c.delta).empty()) << c.name;
    EXPECT_TRUE(mu.contour_above(kInfinity).empty()) << c.name;
  }
}

TEST(FreeConvolution, ContoursBelowAndAboveACutShareTheMoments) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    const double spread = std::sqrt(second_moment(c));
    for (double fraction : {0.97, 0.5, 0.03}) {
      const double cut = mu.upper_quantile(fraction);
      const double sensitivity = mu.density(cut) * (std::abs(cut) + c.delta) * 1e-15;
      const std::vector<ContourNode> below = mu.contour_below(cut);
      const std::vector<ContourNode> above = mu.contour_above(cut);
      const double whole[] = {1, moment(c.law, 1), second_moment(c)};
      EXPECT_NEAR(contour_moment(below, 0), 1 - mu.mass_above(cut), 1e-14 + 10 * sensitivity) << c.name;
      for (int k = 0; k < 3; ++k) {
        const double scale = std::pow(spread, k);
        EXPECT_NEAR(contour_moment(below, k) + contour_moment(above, k), whole[k],
                    3e-13 * scale + 20 * sensitivity * std::pow(std::abs(cut), k))
            << c.name << " moment " << k;
      }
    }
    EXPECT_TRUE(mu.contour_below(mu.outer_edges().lo - 1e-3 * c.delta).empty()) << c.name;
    EXPECT_TRUE(mu.contour_below(-kInfinity).empty()) << c.name;
    EXPECT_NEAR(contour_moment(mu.contour_below(kInfinity), 2), second_moment(c), 2e-13 * second_moment(c))
        << c.name;
  }
}

TEST(FreeConvolution, ScalesWithItsLaw) {
  const double scale = 3.7;
  const DiscreteLaw small{{-1, 0.2, 2}, {0.3, 0.3, 0.4}};
  DiscreteLaw large = small;
  for (double& s : large.locations) s *= scale;
  const FreeConvolution mu(small, 0.4);
  const FreeConvolution nu(large, 0.4 * scale);
  for (double x : {-1.5, -0.3, 0.4, 1.7, 2.6}) {
    EXPECT_NEAR(nu.density(scale * x) * scale, mu.density(x), 1e-13);
    EXPECT_NEAR(nu.hilbert(scale * x) * scale, mu.hilbert(x), 1e-13);
    EXPECT_NEAR(nu.mass_above(scale * x), mu.mass_above(x), 1e-14);
  }
}

TEST(FreeConvolution, RejectsWhatItCannotConvolve) {
  EXPECT_THROW(FreeConvolution(SemicircleLaw{2}, 0), InvalidParameter);
  EXPECT_THROW(FreeConvolution(SemicircleLaw{2}, -1), InvalidParameter);
  EXPECT_THROW(FreeConvolution(SemicircleLaw{2}, kNan), InvalidParameter);
  EXPECT_THROW(FreeConvolution(SemicircleLaw{2}, kInfinity), InvalidParameter);
  EXPECT_THROW(FreeConvolution(SemicircleLaw{0}, 1), InvalidParameter);
  EXPECT_THROW(FreeConvolution(WishartLaw{-0.1}, 1), InvalidParameter);
  EXPECT_THROW(FreeConvolution(DiscreteLaw{}, 1), InvalidParameter);
  EXPECT_THROW(FreeConvolution(DiscreteLaw{{1, 0}, {0.5, 0.5}}, 1), InvalidParameter);
  EXPECT_THROW(FreeConvolution(DiscreteLaw{{0, 1}, {0.5, 0.6}}, 1), InvalidParameter);
  EXPECT_THROW(FreeConvolution(DiscreteLaw{{0, kNan}, {0.5, 0.5}}, 1), InvalidParameter);
  const FreeConvolution mu(WishartLaw{0.5}, 0.1);
  EXPECT_THROW(mu.density(kNan), InvalidParameter);
  EXPECT_THROW(mu.mass_above(kNan), InvalidParameter);
  EXPECT_THROW(mu.contour_above(kNan), InvalidParameter);
  EXPECT_THROW(mu.upper_quantile(0), InvalidParameter);
  EXPECT_THROW(mu.upper_quantile(1), InvalidParameter);
  EXPECT_THROW(mu.upper_quantile(kNan), InvalidParameter);
  const std::vector<double> breakpoints = {kNan};
  EXPECT_THROW(mu.nodes(breakpoints), InvalidParameter);
}

}  // namespace
}  // namespace qklab
