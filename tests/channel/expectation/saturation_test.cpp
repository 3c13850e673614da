#include "qklab/channel/expectation/saturation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

constexpr QmcOptions options{.log2_points = 16, .scramblings = 8, .seed = 3};

double test_error(const Channel& channel, const ScoreOverlaps& overlaps) {
  return mean_and_error(OutputExpectation(channel, 0, 0, options).test_error(overlaps)).value;
}

TEST(Saturation, IdentityRisesLinearlyFromZero) {
  for (int tokens : {1, 2, 3}) {
    const Saturation at = saturation({Activation::identity, tokens, 1}, 0.3, 1.5, options);
    EXPECT_EQ(at.scale.value, 1);
    EXPECT_EQ(at.test_error.value, 0);
    EXPECT_EQ(at.gradient_self_overlap.value, tokens * (tokens + 1));
    EXPECT_EQ(at.gradient_scale.value, 0);
  }
}

TEST(Saturation, NoiselessSoftmaxReachesTheTeacher) {
  const Saturation at = saturation({Activation::softmax, 3, 1.4}, 0, 1.5, options);
  EXPECT_EQ(at.scale.value, 1);
  EXPECT_EQ(at.test_error.value, 0);
  EXPECT_EQ(at.gradient_scale.value, 0);
}

// For two tokens a row is (1 +- tanh(u/2))/2 with u = h_aa - h_12 of variance 3 Q0: one-dimensional
// integrals.
TEST(Saturation, SlopeOfTwoTokensIsAnIntegral) {
  constexpr double Q0 = 1.2;
  constexpr double beta = 1.7;
  double slope = 0;
  constexpr int steps = 4000;
  for (int k = 0; k < steps; ++k) {
    const double x = -10 + 20 * (k + 0.5) / steps;
    const double attention = 1 / (1 + std::exp(-beta * std::sqrt(3 * Q0) * x));
    const double derivative = beta * attention * (1 - attention);
    // Two rows of two entries; a row's score moves by 2 + 1 squared white steps.
    slope += 4 * 3 * derivative * derivative * std::exp(-x * x / 2) / std::sqrt(2 * M_PI) * 20 / steps;
  }
  const Saturation at = saturation({Activation::softmax, 2, beta}, 0, Q0, options);
  EXPECT_NEAR(at.gradient_self_overlap.value, slope, 5 * at.gradient_self_overlap.se + 1e-6);
  EXPECT_LT(at.gradient_self_overlap.se, 1e-2 * slope);
}

class SaturationSlopes : public ::testing::TestWithParam<int> {};

// Finite differences of the sampled test error, right to the step and the sampling error.
TEST_P(SaturationSlopes, AreThoseOfTheTestErrorFunction) {
  const Channel channel{Activation::softmax, GetParam(), 1.3};
  constexpr double Q0 = 1.4;
  const Saturation at = saturation(channel, 0.6, Q0, options);
  const double c = at.scale.value;
  EXPECT_LT(c, 1);
  const double here = test_error(channel, ScoreOverlaps::from_orthogonal(Q0, c * Q0, 0));
  EXPECT_NEAR(here, at.test_error.value, 4 * at.test_error.se + 1e-3 * here);
  constexpr double step = 0.02;
  const double by_difference =
      (-3 * here + 4 * test_error(channel, ScoreOverlaps::from_orthogonal(Q0, c * Q0, step)) -
       test_error(channel, ScoreOverlaps::from_orthogonal(Q0, c * Q0, 2 * step))) /
      (2 * step);
  EXPECT_NEAR(by_difference, at.gradient_self_overlap.value, 0.03 * at.gradient_self_overlap.value);
  constexpr double h = 1e-3;
  const double along = (test_error(channel, ScoreOverlaps::from_orthogonal(Q0, (c + h) * Q0, 0)) -
                        test_error(channel, ScoreOverlaps::from_orthogonal(Q0, (c - h) * Q0, 0))) /
                       (2 * h * Q0);
  EXPECT_NEAR(along, at.gradient_scale.value, 0.02 * std::abs(along));
}

INSTANTIATE_TEST_SUITE_P(Tokens, SaturationSlopes, ::testing::Values(2, 3));

// At the pseudo-true scale the mean risk is stationary: more or less scale is worse on another sample.
TEST(Saturation, ScaleMinimisesTheRiskOfNoisyLabels) {
  const Channel channel{Activation::softmax, 2, 1};
  const Saturation at = saturation(channel, 1.0, 1.5, options);
  const Saturation other = saturation(channel, 1.0, 1.5, {.log2_points = 16, .scramblings = 8, .seed = 9});
  EXPECT_NEAR(at.scale.value, other.scale.value, 5 * std::hypot(at.scale.se, other.scale.se));
  EXPECT_LT(at.scale.value, 0.95);
  EXPECT_GT(at.scale.value, 0.4);
}

TEST(Saturation, RefusesWhatIsOutsideItsDomain) {
  EXPECT_THROW(saturation({Activation::softmax, 1, 1}, 0, 1, options), InvalidParameter);
  EXPECT_THROW(saturation({Activation::softmax, 2, 1}, -1, 1, options), InvalidParameter);
  EXPECT_THROW(saturation({Activation::softmax, 2, 1}, 0, 0, options), InvalidParameter);
}

}  // namespace
}  // namespace qklab
