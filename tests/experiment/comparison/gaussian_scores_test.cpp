#include <gtest/gtest.h>

#include <cmath>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::experiment {
namespace {

struct TestErrors {
  Estimate measured;  ///< on samples
  Estimate gaussian;  ///< of Gaussian scores with the same overlaps
};

/// S is the teacher with a tenth of it lost and some noise added.
TestErrors of_blurred_teacher(const Problem& problem) {
  const lab::Matrix teacher = lab::draw_teacher(problem, 1);
  Problem noise = problem;
  noise.teacher = WishartTeacher{1.0};
  const lab::Matrix blur =
      lab::draw_teacher(noise, 2) - lab::Matrix::Identity(problem.dimension, problem.dimension);
  const lab::Matrix student = 0.9 * teacher + 0.2 * blur;
  const ScoreOverlaps overlaps(lab::overlap(teacher, teacher), lab::overlap(teacher, student),
                               lab::overlap(student, student));
  const OutputExpectation expectation(channel_of(problem), 0, 0, {.log2_points = 16});
  return {lab::measure_test_error(problem, teacher, student, 200'000, 3),
          mean_and_error(expectation.test_error(overlaps))};
}

double deviation(const TestErrors& errors) {
  return (errors.measured.value - errors.gaussian.value) / std::hypot(errors.measured.se, errors.gaussian.se);
}

// docs/theory section 1.1.
TEST(GaussianScores, HoldForAWishartTeacher) {
  Problem problem;
  problem.dimension = 100;
  const TestErrors errors = of_blurred_teacher(problem);
  EXPECT_LT(std::abs(deviation(errors)), 4);
}

TEST(GaussianScores, FailForAFewModesUnderTheSoftmax) {
  Problem problem;
  problem.dimension = 100;
  problem.teacher = PowerLawTeacher{0.75, 6};
  EXPECT_NEAR(effective_modes(problem), 2.81, 0.01);
  const TestErrors errors = of_blurred_teacher(problem);
  EXPECT_GT(std::abs(deviation(errors)), 5);
  EXPECT_NEAR(errors.measured.value / errors.gaussian.value, 1, 0.15);
}

TEST(GaussianScores, AreNotNeededByTheIdentity) {
  Problem problem;
  problem.dimension = 100;
  problem.activation = Activation::identity;
  problem.teacher = PowerLawTeacher{0.75, 6};
  EXPECT_LT(std::abs(deviation(of_blurred_teacher(problem))), 4);
}

}  // namespace
}  // namespace qklab::experiment
