#include "qklab/theory/generalization/teacher_modes.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "theory/sampled_matrices.hpp"

namespace qklab::theory {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::eigenmodes;
using test::goe;

/// A teacher of the given eigenvalues, the others zero.
StudentSpectrum thresholded(const std::vector<double>& eigenvalues, int dimension, double delta, double b) {
  std::vector<double> all = eigenvalues;
  all.resize(static_cast<std::size_t>(dimension), 0.0);
  return {empirical_law(all), Parametrization::tied, delta, b, b, 0.8};
}

TEST(TeacherModes, OneModeFollowsTheClosedForm) {
  constexpr double s = 3;
  constexpr double delta = 1.2;
  const auto modes = teacher_modes(thresholded({s}, 1'000'000, delta, 0.5), 1'000'000);
  ASSERT_EQ(modes.size(), 1U);
  EXPECT_TRUE(modes[0].recovered);
  EXPECT_NEAR(modes[0].location, s + delta * delta / s, 1e-5);
  EXPECT_NEAR(modes[0].alignment, 1 - delta * delta / (s * s), 1e-5);
  EXPECT_NEAR(modes[0].learned, 0.8 * (s + delta * delta / s - 0.5), 1e-5);
}

TEST(TeacherModes, EqualEigenvaluesAreOneModeOfThatMultiplicity) {
  const auto modes = teacher_modes(thresholded({4, 2, 2, 2}, 1000, 0.5, 0.1), 1000);
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_EQ(modes[0].multiplicity, 1);
  EXPECT_EQ(modes[1].multiplicity, 3);
}

TEST(TeacherModes, AModeBelowTheNoiseIsNotIsolated) {
  const auto modes = teacher_modes(thresholded({2, 0.9}, 1'000'000, 1.0, 0.1), 1'000'000);
  EXPECT_TRUE(modes[0].isolated);
  EXPECT_FALSE(modes[1].isolated);
  EXPECT_TRUE(std::isnan(modes[1].location));
  EXPECT_EQ(modes[1].alignment, 0);
  EXPECT_EQ(modes[1].learned, 0);
}

TEST(TeacherModes, AnOutlierBelowTheThresholdIsIsolatedAndNotRecovered) {
  const auto modes = teacher_modes(thresholded({2}, 1'000'000, 1.0, 2.6), 1'000'000);
  EXPECT_TRUE(modes[0].isolated);
  EXPECT_FALSE(modes[0].recovered);
  EXPECT_EQ(modes[0].learned, 0);
}

// Five modes, 24 matrices of d = 400: means within 4 of their standard errors plus 2/d of the value.
TEST(TeacherModes, AgreeWithSampledMatrices) {
  constexpr int d = 400;
  constexpr int samples = 24;
  const std::vector<double> s{6, 4.5, 3.2, 2.4, 1.7};
  constexpr double delta = 1;
  const auto modes = teacher_modes(thresholded(s, d, delta, 0.3), d);
  VectorXd diagonal = VectorXd::Zero(d);
  for (int i = 0; i < 5; ++i) diagonal[i] = s[i];
  MatrixXd location(5, samples);
  MatrixXd alignment(5, samples);
  for (int k = 0; k < samples; ++k) {
    const MatrixXd matrix = MatrixXd(diagonal.asDiagonal()) + delta * goe(d, 50 + k);
    const test::Eigenmodes eigen = eigenmodes(matrix);
    for (int i = 0; i < 5; ++i) {
      location(i, k) = eigen.values[d - 1 - i];
      alignment(i, k) = std::pow(eigen.vectors(i, d - 1 - i), 2);
    }
  }
  const auto agrees = [&](const VectorXd& values, double predicted) {
    const double mean = values.mean();
    const double se = std::sqrt((values.array() - mean).square().sum() / (samples * (samples - 1.0)));
    EXPECT_NEAR(mean, predicted, 4 * se + 2 * predicted / d);
  };
  for (int i = 0; i < 5; ++i) {
    agrees(location.row(i), modes[i].location);
    agrees(alignment.row(i), modes[i].alignment);
  }
}

TEST(LevelProfile, AgreesWithTheEigenvectorsOfASampledMatrix) {
  constexpr int d = 600;
  const StudentSpectrum spectrum{WishartLaw{0.5}, Parametrization::tied, 0.5, 0.2, 0.2, 1.3};
  const MatrixXd teacher = test::wishart(d, d / 2, 4);
  const test::Eigenmodes eigen = eigenmodes(teacher + 0.5 * goe(d, 5));
  const MatrixXd& v = eigen.vectors;
  const std::vector<Level> profile = level_profile(spectrum, 40);
  ASSERT_GE(profile.size(), 40U);
  for (const Level& level : profile) {
    const double x = level.student / spectrum.scale + spectrum.threshold;
    double sum = 0;
    int count = 0;
    for (int k = 0; k < d; ++k) {
      if (std::abs(eigen.values[k] - x) > 0.1) continue;
      sum += v.col(k).dot(teacher * v.col(k));
      ++count;
    }
    if (count < 20) continue;
    EXPECT_NEAR(level.teacher, sum / count, 0.05);
  }
}

TEST(AlignmentDensity, AveragesToOneOverTheTeacher) {
  std::vector<double> s;
  for (int i = 0; i < 300; ++i) s.push_back(2.0 * i / 300);
  const StudentSpectrum spectrum{empirical_law(s), Parametrization::tied, 0.4, 0.2, 0.2, 1};
  for (double x : {0.3, 0.8, 1.5}) {
    double sum = 0;
    for (const Atom& atom : atoms(spectrum.teacher)) {
      sum += atom.mass * alignment_density(spectrum, x, atom.location);
    }
    EXPECT_NEAR(sum, 1, 1e-10);
  }
}

}  // namespace
}  // namespace qklab::theory
