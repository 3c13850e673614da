#include "qklab/theory/generalization/scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

/// A quadratic network that learns a power law from n/d samples per dimension.
std::vector<Problem> power_law_series(double gamma, int dimension, const std::vector<double>& samples_per_d) {
  std::vector<Problem> series;
  for (double ratio : samples_per_d) {
    Problem problem;
    problem.tokens = 1;
    problem.activation = Activation::identity;
    problem.teacher = PowerLawTeacher{gamma, 0};
    problem.dimension = dimension;
    problem.noise_out = 0.5;
    problem.alpha = ratio / dimension;
    series.push_back(problem);
  }
  return series;
}

struct Exponent {
  double gamma;
  double local;
};

class ScalingExponent : public ::testing::TestWithParam<Exponent> {};

// Local exponents of an independent solver (THEORY-NOTES of the prototype, section 10: binned tail, its own
// root finder and optimiser): T = 1, noise_out 0.5, d = 1e5, n/d from 1000 to 3162.
TEST_P(ScalingExponent, AgreesWithAnIndependentSolver) {
  StateEvolution evolution;
  const ScalingLaw law =
      scaling_law(power_law_series(GetParam().gamma, 100'000, {1000, 3162}), evolution, {.modes = 0});
  ASSERT_EQ(law.points.size(), 2U);
  EXPECT_NEAR(law.points[0].local_exponent.value, GetParam().local, 0.01);
  EXPECT_EQ(law.points[0].regime, ScalingRegime::emergence);
}

INSTANTIATE_TEST_SUITE_P(PowerLaws, ScalingExponent,
                         ::testing::Values(Exponent{0.75, -0.404}, Exponent{1.0, -0.534},
                                           Exponent{1.5, -0.672}));

TEST(ScalingLaw, DriftsTowardsThePredictedExponent) {
  StateEvolution evolution;
  const ScalingLaw law =
      scaling_law(power_law_series(1.0, 50'000, {32, 100, 316, 1000, 3162}), evolution, {.modes = 0});
  const double limit = predicted_exponent(1.0);
  EXPECT_EQ(limit, -0.5);
  for (std::size_t i = 2; i + 1 < law.points.size(); ++i) {
    EXPECT_LT(law.points[i].local_exponent.value, limit);
    EXPECT_GT(law.points[i].local_exponent.value, law.points[i - 1].local_exponent.value);
  }
  EXPECT_GT(law.exponent.se, 0);
  EXPECT_NEAR(law.exponent.value, limit, 0.1);
}

TEST(ScalingLaw, ModesEnterOneAfterAnotherAndTheirPartsFall) {
  StateEvolution evolution;
  std::vector<double> ratios;
  for (int k = 0; k < 24; ++k) ratios.push_back(0.3 * std::pow(10, k / 3.0));
  const ScalingLaw law = scaling_law(power_law_series(1.0, 200, ratios), evolution, {.modes = 6});
  ASSERT_EQ(law.modes.size(), 6U);
  EXPECT_EQ(law.points.front().regime, ScalingRegime::before_onset);
  EXPECT_EQ(law.points.back().regime, ScalingRegime::saturated);
  EXPECT_GT(law.points.back().recovered, 100);
  for (std::size_t k = 0; k < law.modes.size(); ++k) {
    const ModeEntry& mode = law.modes[k];
    ASSERT_EQ(mode.remaining.size(), law.points.size());
    EXPECT_EQ(mode.remaining.front(), 1);
    EXPECT_LT(mode.remaining.back(), 1e-2);
    EXPECT_TRUE(std::isfinite(mode.enters));
    if (k > 0) {
      EXPECT_GE(mode.enters, law.modes[k - 1].enters);
    }
  }
  // Once every mode is learned the error of d(d+1)/2 unknowns falls like 1/n.
  EXPECT_NEAR(law.points.back().local_exponent.value, -1, 0.05);
}

TEST(ScalingLaw, KeepsTheGivenWeightDecayWhenAsked) {
  StateEvolution evolution;
  const auto series = power_law_series(1.0, 100, {1, 10});
  const ScalingLaw law = scaling_law(series, evolution, {.tuned = false});
  EXPECT_EQ(law.points[1].solution.problem.lambda, series[1].lambda);
  EXPECT_NEAR(law.points[1].solution.test_error.value, solve(series[1]).test_error.value, 1e-9);
}

TEST(ScalingLaw, RefusesWhatIsNoSeries) {
  StateEvolution evolution;
  EXPECT_THROW(scaling_law(power_law_series(1, 100, {1}), evolution), InvalidParameter);
  EXPECT_THROW(scaling_law(power_law_series(1, 100, {2, 1}), evolution), InvalidParameter);
  EXPECT_THROW(scaling_law({Problem{}, Problem{.alpha = 2.0}}, evolution), InvalidParameter);
  EXPECT_THROW(predicted_exponent(0.5), InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
