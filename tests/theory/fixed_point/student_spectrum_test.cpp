#include "qklab/theory/fixed_point/student_spectrum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace qklab::theory {
namespace {

StudentSpectrum example() {
  return {WishartLaw{0.5}, Parametrization::tied, 0.4, 0.3, 0.3, 0.8};
}

/// Midpoint rule after a substitution that removes square-root ends.
template <class F>
double integral(F f, double lo, double hi) {
  constexpr int steps = 4000;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double theta = M_PI * ((i + 0.5) / steps - 0.5);
    sum +=
        f((lo + hi) / 2 + (hi - lo) / 2 * std::sin(theta)) * std::cos(theta) * (hi - lo) / 2 * M_PI / steps;
  }
  return sum;
}

TEST(StudentSpectrum, DensityAndAtomSumToOne) {
  const StudentSpectrum spectrum = example();
  double mass = 0;
  for (const Interval& interval : student_edges(spectrum)) {
    mass += integral([&](double s) { return student_density(spectrum, s); }, interval.lo, interval.hi);
  }
  EXPECT_NEAR(mass + zero_fraction(spectrum), 1, 1e-6);
}

TEST(StudentSpectrum, SingularValuesOfWAreSquareRoots) {
  const StudentSpectrum spectrum = example();
  const double top = student_edges(spectrum).back().hi;
  const double mass = integral([&](double w) { return weight_density(spectrum, w); }, 0, std::sqrt(top));
  EXPECT_NEAR(mass, 1 - zero_fraction(spectrum), 1e-6);
  EXPECT_EQ(weight_density(spectrum, -1), 0);
}

TEST(StudentSpectrum, EdgesStartAtZeroWhenTheThresholdIsInTheBulk) {
  const auto edges = student_edges(example());
  ASSERT_FALSE(edges.empty());
  EXPECT_EQ(edges.front().lo, 0);
  EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end(), [](auto a, auto b) { return a.hi < b.lo; }));
}

TEST(StudentSpectrum, ZeroStudentIsAllAtom) {
  StudentSpectrum nothing;
  EXPECT_EQ(zero_fraction(nothing), 1);
  EXPECT_TRUE(student_edges(nothing).empty());
  EXPECT_EQ(student_density(nothing, 1), 0);
  EXPECT_EQ(divided_difference_norm(nothing), 0);
}

TEST(DividedDifferenceNorm, IsOneForTheIdentityAndForAThresholdBelowTheSpectrum) {
  StudentSpectrum spectrum = example();
  spectrum.parametrization = Parametrization::direct;
  EXPECT_EQ(divided_difference_norm(spectrum), 1);
  spectrum.parametrization = Parametrization::tied;
  spectrum.threshold = spectrum.cut = -5;
  EXPECT_NEAR(divided_difference_norm(spectrum), 1, 1e-12);
}

TEST(DividedDifferenceNorm, VanishesAboveTheSpectrumAndFallsWithTheThreshold) {
  StudentSpectrum spectrum = example();
  double previous = 1;
  for (double b = -0.5; b < 4; b += 0.25) {
    spectrum.threshold = spectrum.cut = b;
    const double norm = divided_difference_norm(spectrum);
    EXPECT_LT(norm, previous);
    previous = norm;
  }
  spectrum.threshold = spectrum.cut = 50;
  EXPECT_EQ(divided_difference_norm(spectrum), 0);
}

// A semicircle thresholded at its centre: with x = 2 cos a, y = 2 cos b the double integral has a value that
// does not depend on the radius; the midpoint rule in the angles is an independent evaluation.
TEST(DividedDifferenceNorm, AgreesWithABruteForceSumForASemicircle) {
  const StudentSpectrum spectrum{DiscreteLaw{{0.0}, {1.0}}, Parametrization::tied, 0.7, 0, 0, 1};
  constexpr int steps = 3000;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double a = M_PI * (i + 0.5) / steps;
    for (int j = 0; j < steps; ++j) {
      const double b = M_PI * (j + 0.5) / steps;
      const double x = 2 * std::cos(a);
      const double y = 2 * std::cos(b);
      const double slope = i == j ? (x > 0 ? 1.0 : 0.0) : (std::max(x, 0.0) - std::max(y, 0.0)) / (x - y);
      sum += slope * slope * std::pow(std::sin(a) * std::sin(b), 2);
    }
  }
  sum *= std::pow(2 / M_PI, 2) * std::pow(M_PI / steps, 2);
  EXPECT_NEAR(divided_difference_norm(spectrum), sum, 1e-4);
}

// In a gap the integrand has no singularity, and the rule on the real line is an independent evaluation.
TEST(DividedDifferenceNorm, AgreesWithTheRuleOnTheRealLineForACutInAGap) {
  StudentSpectrum spectrum{WishartLaw{0.5}, Parametrization::tied, 0.02, 0.06, 0.06, 1};
  const FreeConvolution mu(spectrum.teacher, spectrum.delta);
  ASSERT_EQ(mu.support().size(), 2U);
  ASSERT_EQ(mu.density(spectrum.cut), 0);
  const std::vector<SpectralNode> nodes = mu.nodes();
  double sum = 0;
  for (const SpectralNode& x : nodes) {
    for (const SpectralNode& y : nodes) {
      const double fx = std::max(0.0, x.x - spectrum.threshold);
      const double fy = std::max(0.0, y.x - spectrum.threshold);
      const double slope = x.x == y.x ? (fx > 0 ? 1.0 : 0.0) : (fx - fy) / (x.x - y.x);
      sum += x.weight * y.weight * slope * slope;
    }
  }
  EXPECT_NEAR(divided_difference_norm(spectrum), sum, 1e-10);
}

// Both ends thresholded: a midpoint sum in the angles of a semicircle, and the identity where b = 0.
TEST(DividedDifferenceNorm, AgreesWithABruteForceSumForAThresholdAtBothEnds) {
  constexpr int steps = 3000;
  constexpr double b = 0.9;
  StudentSpectrum spectrum{DiscreteLaw{{0.0}, {1.0}}, Parametrization::untied, 1, b, b, 1};
  const auto f = [](double x) { return std::max(0.0, x - b) + std::min(0.0, x + b); };
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double x = 2 * std::cos(M_PI * (i + 0.5) / steps);
    for (int j = 0; j < steps; ++j) {
      const double y = 2 * std::cos(M_PI * (j + 0.5) / steps);
      const double slope = i == j ? (std::abs(x) > b ? 1.0 : 0.0) : (f(x) - f(y)) / (x - y);
      sum += slope * slope * (4 - x * x) * (4 - y * y);
    }
  }
  sum *= std::pow(1 / (2.0 * steps), 2);
  EXPECT_NEAR(divided_difference_norm(spectrum), sum, 1e-4);
  spectrum.threshold = spectrum.cut = 0;
  EXPECT_NEAR(divided_difference_norm(spectrum), 1, 1e-12);
}

TEST(StudentSpectrum, AThresholdAtBothEndsKeepsTheMassOfBothTails) {
  const StudentSpectrum spectrum{WishartLaw{0.5}, Parametrization::untied, 0.9, 0.5, 0.5, 0.8};
  double mass = 0;
  for (const Interval& interval : student_edges(spectrum)) {
    mass += integral([&](double s) { return student_density(spectrum, s); }, interval.lo, interval.hi);
  }
  EXPECT_NEAR(mass + zero_fraction(spectrum), 1, 1e-6);
  ASSERT_LT(student_edges(spectrum).front().lo, 0);
  EXPECT_EQ(student_edges(spectrum).front().hi, 0);
  const double top = student_edges(spectrum).back().hi;
  const double singular = integral([&](double w) { return weight_density(spectrum, w); }, 0, top);
  EXPECT_NEAR(singular, mass, 1e-3);
}

/// The double sum over a midpoint grid of `steps` points on the support.
double norm_at_resolution(const StudentSpectrum& spectrum, int steps) {
  const FreeConvolution mu(spectrum.teacher, spectrum.delta);
  const Interval support{mu.support().front().lo, mu.support().back().hi};
  // The cut lies halfway between two points of the grid at every resolution.
  const double h = (support.hi - spectrum.cut) / steps;
  std::vector<double> x;
  std::vector<double> weight;
  std::vector<double> f;
  for (double at = support.hi - h / 2; at > support.lo; at -= h) {
    x.push_back(at);
    weight.push_back(h * mu.density(at));
    f.push_back(at > spectrum.cut ? at - spectrum.threshold : 0);
  }
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double slope = (f[i] - f[j]) / (x[i] - x[j]);
      sum += 2 * weight[i] * weight[j] * slope * slope;
    }
  }
  return sum;
}

// Where f jumps by J at a point of density p the integral grows by 2 J^2 p^2 log 2 with every doubling of the
// resolution.
TEST(DividedDifferenceNorm, IsInfiniteWhereTheWidthCutsTheBulk) {
  StudentSpectrum spectrum = example();
  spectrum.cut = 1.0;
  EXPECT_EQ(divided_difference_norm(spectrum), std::numeric_limits<double>::infinity());
  const double jump = spectrum.cut - spectrum.threshold;
  const double density = FreeConvolution(spectrum.teacher, spectrum.delta).density(spectrum.cut);
  const double growth = 2 * std::pow(jump * density, 2) * std::log(2);
  const double at_500 = norm_at_resolution(spectrum, 500);
  const double at_1000 = norm_at_resolution(spectrum, 1000);
  const double at_2000 = norm_at_resolution(spectrum, 2000);
  EXPECT_NEAR(at_1000 - at_500, growth, 0.03 * growth);
  EXPECT_NEAR(at_2000 - at_1000, growth, 0.03 * growth);
}

}  // namespace
}  // namespace qklab::theory
