#include "qklab/experiment/comparison/spectral_parts.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "qklab/core/random.hpp"

namespace qklab::experiment {
namespace {

using Eigen::MatrixXd;
using Solver = Eigen::SelfAdjointEigenSolver<MatrixXd>;

constexpr int d = 24;

MatrixXd random_symmetric(std::uint64_t seed) {
  MatrixXd g(d, d);
  RandomStream(seed, Purpose::probe).fill_normal(std::span(g.data(), static_cast<std::size_t>(g.size())));
  return (g + g.transpose()) / std::sqrt(2.0 * d);
}

std::vector<double> to_list(const Eigen::VectorXd& values) {
  return {values.data(), values.data() + values.size()};
}

/// A run that learned `student` of `teacher`, measured by plain linear algebra.
lab::TrainedRun run_of(const MatrixXd& student, const MatrixXd& teacher) {
  const Solver s(student);
  const Solver s0(teacher);
  lab::TrainedRun run;
  run.eigenvalues = to_list(s.eigenvalues());
  run.teacher_eigenvalues = to_list(s0.eigenvalues());
  for (int i = 0; i < d; ++i) {
    run.alignments.push_back(std::pow(s.eigenvectors().col(i).dot(s0.eigenvectors().col(i)), 2));
    run.teacher_levels.push_back(s.eigenvectors().col(i).dot(teacher * s.eigenvectors().col(i)));
  }
  run.overlap = student.cwiseProduct(teacher).sum() / d;
  run.self_overlap = student.squaredNorm() / d;
  run.test_error.value = 0.7;
  return run;
}

class MeasuredPartsOf : public ::testing::TestWithParam<bool> {};

TEST_P(MeasuredPartsOf, ARunAddUpToItsDistanceFromTheScaledTeacher) {
  const MatrixXd noise = random_symmetric(1);
  const MatrixXd teacher = noise * noise;
  const MatrixXd student = teacher + 0.3 * random_symmetric(2);
  const lab::TrainedRun run = run_of(student, teacher);
  theory::Decomposition predicted;
  predicted.scale.value = 0.8;
  predicted.gradient_self_overlap.value = 1.7;
  predicted.gradient_scale.value = 0.2;
  predicted.saturation_error.value = 0.05;
  predicted.recovered = 5;
  predicted.is_band = GetParam();
  const MeasuredParts measured = measured_parts(run, predicted);
  EXPECT_NEAR(measured.parts.sum(), (student - 0.8 * teacher).squaredNorm() / d, 1e-10);
  EXPECT_NEAR(0.05 + 1.7 * measured.parts.sum() + measured.mismatch + measured.remainder, 0.7, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(ModesAndBands, MeasuredPartsOf, ::testing::Bool());

// With the teacher's own eigenvectors each part is a sum over eigenvalues.
TEST(MeasuredParts, OfACommutingStudentAreSumsOverEigenvalues) {
  const Solver basis(random_symmetric(3));
  Eigen::VectorXd s = Eigen::VectorXd::Zero(d);
  Eigen::VectorXd learned = Eigen::VectorXd::Zero(d);
  s.tail(4) << 1, 2, 3, 4;
  learned.tail(5) << 0.2, 0.5, 1.5, 2.5, 3.5;
  const MatrixXd& u = basis.eigenvectors();
  theory::Decomposition predicted;
  predicted.scale.value = 1;
  predicted.recovered = 3;
  const auto parts =
      measured_parts(run_of(u * learned.asDiagonal() * u.transpose(), u * s.asDiagonal() * u.transpose()),
                     predicted)
          .parts;
  EXPECT_NEAR(parts.overfitting, (0.2 * 0.2 + 0.5 * 0.5) / d, 1e-12);
  EXPECT_NEAR(parts.underfitting, 1.0 / d, 1e-12);
  EXPECT_NEAR(parts.approximation, 3 * 0.25 / d, 1e-12);
  EXPECT_NEAR(parts.cross, -2 * 0.5 / d, 1e-12);
}

TEST(CompareModes, PairsEachIsolatedModeWithTheEigenvalueOfItsRank) {
  Comparison point;
  point.theory.problem.dimension = d;
  std::vector<double> s(d, 0.0);
  s[0] = 9;
  s[1] = s[2] = 6;
  s[3] = 0.5;
  point.theory.spectrum = {empirical_law(s), Parametrization::tied, 1, 0.5, 0.5, 0.5};
  lab::TrainedRun run;
  for (int i = 0; i < d; ++i) {
    run.eigenvalues.push_back(i);
    run.alignments.push_back(i / 100.0);
  }
  point.runs = {run, run};
  const auto modes = compare_modes(point, 10);
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_EQ(modes[0].rank, 1);
  EXPECT_EQ(modes[0].learned.value, d - 1);
  EXPECT_EQ(modes[0].location.value, (d - 1) / 0.5 + 0.5);
  EXPECT_EQ(modes[1].rank, 2);
  EXPECT_EQ(modes[1].predicted.multiplicity, 2);
  EXPECT_EQ(modes[1].learned.value, d - 2.5);
  EXPECT_NEAR(modes[1].alignment.value, (d - 2.5) / 100, 1e-12);
  EXPECT_EQ(compare_modes(point, 1).size(), 1U);
}

TEST(MeasuredProfile, HoldsEveryNonZeroEigenvalueOnce) {
  Comparison point;
  lab::TrainedRun run;
  for (int i = 0; i < d; ++i) {
    run.eigenvalues.push_back(i < 4 ? 0.0 : i);
    run.teacher_levels.push_back(2.0 * i);
  }
  point.runs = {run};
  const auto profile = measured_profile(point, 5);
  ASSERT_EQ(profile.size(), 5U);
  for (const MeasuredLevel& level : profile) {
    EXPECT_NEAR(level.teacher.value, 2 * level.student, 1e-12);
    EXPECT_GT(level.teacher.se, 0);
  }
  EXPECT_TRUE(measured_profile(Comparison{}, 5).empty());
}

}  // namespace
}  // namespace qklab::experiment
