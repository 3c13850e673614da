#include "qklab/spectra/law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using Complex = std::complex<double>;

const double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Law> laws() {
  return {SemicircleLaw{2},
          SemicircleLaw{0.3},
          WishartLaw{0.05},
          WishartLaw{0.5},
          WishartLaw{1},
          WishartLaw{7},
          DiscreteLaw{{-1, 0, 0.5, 0.501, 4}, {0.1, 0.4, 0.2, 0.25, 0.05}}};
}

/// Midpoint rule in theta over the density of the bulk, exact to rounding off the axis, plus the atom.
Complex wishart_by_quadrature(double kappa0, Complex z) {
  const double root = std::sqrt(kappa0);
  const double low = (1 - root) * (1 - root) / root;
  const double high = (1 + root) * (1 + root) / root;
  Complex sum = kappa0 < 1 ? (1 - kappa0) / z : 0;
  const int count = 4000;
  for (int i = 0; i < count; ++i) {
    const double theta = (i + 0.5) * std::numbers::pi / count;
    const double half = (high - low) / 2;
    const double x = (high + low) / 2 + half * std::cos(theta);
    const double density = root * half * std::sin(theta) / (2 * std::numbers::pi * x);
    sum += density * half * std::sin(theta) / (z - x) * std::numbers::pi / static_cast<double>(count);
  }
  return sum;
}

TEST(Law, WishartMatchesItsDensity) {
  for (double kappa0 : {0.05, 0.3, 2.0, 7.0}) {
    for (Complex z :
         {Complex(0.4, 0.3), Complex(-3, 0.2), Complex(5, 2), Complex(0.01, 0.2), Complex(-40, 1)}) {
      const Complex truth = wishart_by_quadrature(kappa0, z);
      EXPECT_LT(std::abs(stieltjes(WishartLaw{kappa0}, z) - truth), 3e-14 * std::abs(truth))
          << kappa0 << " " << z;
    }
  }
}

TEST(Law, WishartSolvesItsQuadraticNearAndFar) {
  for (double kappa0 : {0.01, 0.3, 0.999, 1.0, 1.001, 10.0}) {
    const double a = 1 / std::sqrt(kappa0);
    for (double size : {1e-9, 1e-4, 0.3, 2.0, 30.0, 1e6, 1e12}) {
      for (double angle : {1e-6, 0.5, 1.6, 3.0, 3.14159}) {
        const Complex z = std::polar(size, angle);
        const Complex g = stieltjes(WishartLaw{kappa0}, z);
        // 1/g = z (1 - a g) - a (kappa0 - 1) + ... in the form z g - 1 = kappa0 a g/(1 - a g).
        const Complex left = (z - kappa0 * a / (1.0 - a * g)) * g;
        const double scale = 1 + std::abs(z * g) + std::abs(kappa0 * a * g / (1.0 - a * g));
        EXPECT_LT(std::abs(left - 1.0), 2e-14 * scale) << kappa0 << " " << z;
        EXPECT_LE(g.imag(), 0) << kappa0 << " " << z;
      }
    }
  }
}

TEST(Law, WishartHasMassOneAtInfinityAndItsAtomAtZero) {
  for (double kappa0 : {0.05, 0.5}) {
    const Complex far(0, 1e9);
    EXPECT_LT(std::abs(far * stieltjes(WishartLaw{kappa0}, far) - 1.0), 1e-8);
    const Complex near(0, 1e-12);
    EXPECT_LT(std::abs(near * stieltjes(WishartLaw{kappa0}, near) - (1 - kappa0)), 1e-11);
  }
}

TEST(Law, SemicircleHasItsClosedForm) {
  // radius 2, z = i: G = (z - sqrt(z^2 - 4))/2 = i (1 - sqrt 5)/2.
  const Complex g = stieltjes(SemicircleLaw{2}, {0, 1});
  EXPECT_NEAR(g.real(), 0, 1e-16);
  EXPECT_NEAR(g.imag(), (1 - std::sqrt(5.0)) / 2, 1e-15);
}

TEST(Law, ImaginaryPartIsNeverPositiveInTheUpperHalfPlane) {
  for (const Law& law : laws()) {
    for (double u = -5; u < 12; u += 0.0371) {
      for (double v : {1e-14, 1e-6, 1e-2, 1.0, 1e3})
        EXPECT_LE(stieltjes(law, {u, v}).imag(), 0) << u << " " << v;
    }
  }
}

TEST(Law, DerivativeMatchesFiniteDifferences) {
  for (const Law& law : laws()) {
    for (Complex z : {Complex(0.3, 0.4), Complex(-2, 0.6), Complex(4.5, 0.5)}) {
      const double h = 1e-3;
      const auto g = [&](double step) { return stieltjes(law, z + step); };
      const Complex central = (8.0 * (g(h) - g(-h)) - (g(2 * h) - g(-2 * h))) / (12 * h);
      EXPECT_LT(std::abs(stieltjes_and_derivative(law, z).second - central), 3e-9) << law.index() << z;
    }
  }
}

TEST(Law, RealPointsOutsideTheSupportGiveTheLimit) {
  for (const Law& law : laws()) {
    for (double x : {-6.0, 40.0}) {
      const Complex on_axis = stieltjes(law, x);
      EXPECT_EQ(on_axis.imag(), 0);
      EXPECT_NEAR(on_axis.real(), stieltjes(law, {x, 1e-9}).real(), 1e-14);
    }
  }
}

TEST(Law, DiscreteSumsEveryAtomWhateverTheNumber) {
  for (int count = 1; count < 40; ++count) {
    std::vector<double> eigenvalues;
    for (int i = 0; i < count; ++i) eigenvalues.push_back(std::sin(i + 1.0) * 3);
    const Law law = empirical_law(eigenvalues);
    const Complex z(0.2, 0.01);
    Complex g = 0;
    Complex slope = 0;
    for (double s : eigenvalues) {
      g += 1.0 / (z - s) / static_cast<double>(count);
      slope -= 1.0 / ((z - s) * (z - s)) / static_cast<double>(count);
    }
    const auto [found, found_slope] = stieltjes_and_derivative(law, z);
    EXPECT_LT(std::abs(found - g), 1e-13 * (1 + std::abs(g)));
    EXPECT_LT(std::abs(found_slope - slope), 1e-12 * (1 + std::abs(slope)));
  }
}

TEST(Law, MomentsAreTheDerivativesAtInfinity) {
  // G(z) = 1/z + m1/z^2 + m2/z^3 + ...
  for (const Law& law : laws()) {
    EXPECT_NEAR(moment(law, 0), 1, 1e-15);
    const Complex z(0, 3000);
    const Complex tail = (z * stieltjes(law, z) - 1.0) * z;
    EXPECT_NEAR(tail.real(), moment(law, 1), 1e-4);
    EXPECT_NEAR((tail * z).imag() / 3000, moment(law, 1), 1e-4);
    EXPECT_NEAR(((tail - moment(law, 1)) * z).real(), moment(law, 2), 2e-3);
  }
  EXPECT_THROW(moment(SemicircleLaw{}, 3), InvalidParameter);
}

TEST(Law, EmpiricalLawSortsAndMerges) {
  const DiscreteLaw law = empirical_law({3, 0, 1, 0});
  EXPECT_EQ(law.locations, (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(law.masses, (std::vector<double>{0.5, 0.25, 0.25}));
  EXPECT_THROW(empirical_law({}), InvalidParameter);
  EXPECT_THROW(empirical_law({1, kNan}), InvalidParameter);
}

TEST(Law, AtomsAndHull) {
  EXPECT_TRUE(atoms(SemicircleLaw{2}).empty());
  EXPECT_TRUE(atoms(WishartLaw{1.5}).empty());
  ASSERT_EQ(atoms(WishartLaw{0.25}).size(), 1);
  EXPECT_DOUBLE_EQ(atoms(WishartLaw{0.25})[0].mass, 0.75);
  EXPECT_DOUBLE_EQ(hull(WishartLaw{0.25}).lo, 0);
  EXPECT_DOUBLE_EQ(hull(WishartLaw{0.25}).hi, 4.5);
  EXPECT_DOUBLE_EQ(hull(WishartLaw{4}).lo, 0.5);
  EXPECT_EQ(atoms(DiscreteLaw{{1, 2}, {0.5, 0.5}}).size(), 2);
}

TEST(Law, TeachersKeepTheirSelfOverlap) {
  Problem problem;
  problem.teacher = WishartTeacher{0.3};
  EXPECT_NEAR(moment(teacher_law(problem), 2), teacher_self_overlap(problem), 1e-14);
  problem.teacher = PowerLawTeacher{1.25, 40};
  problem.dimension = 100;
  const Law law = teacher_law(problem);
  EXPECT_NEAR(moment(law, 2), teacher_self_overlap(problem), 1e-12);
  EXPECT_NEAR(atoms(law).front().mass, 0.6, 1e-15);
  problem.teacher = SpectrumTeacher{"list", {3, 1, 1, 0}};
  EXPECT_NEAR(moment(teacher_law(problem), 2), 11.0 / 4, 1e-15);
}

}  // namespace
}  // namespace qklab
