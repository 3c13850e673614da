#include "qklab/experiment/learning/weak_recovery.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/core/threads.hpp"

namespace qklab::experiment {
namespace {

const std::vector<int> dimensions{50, 100, 200, 400, 800};

std::vector<Estimate> law(double amplitude, double exponent, double log_power, double relative_error,
                          std::uint64_t seed) {
  RandomStream stream(seed, Purpose::probe);
  std::vector<Estimate> samples;
  for (int d : dimensions) {
    const double n = amplitude * std::pow(d, exponent) * std::pow(std::log(d), log_power);
    samples.push_back({n * std::exp(relative_error * stream.normal()), n * relative_error});
  }
  return samples;
}

TEST(EscapeFits, FindExactLaws) {
  const auto with_log = fit_escape_samples(dimensions, law(0.3, 2, 1, 1e-9, 1));
  EXPECT_NEAR(with_log[0].amplitude.value, 0.3, 1e-8);
  const auto square = fit_escape_samples(dimensions, law(1.7, 2, 0, 1e-9, 1));
  EXPECT_NEAR(square[1].amplitude.value, 1.7, 1e-8);
  EXPECT_NEAR(square[2].exponent.value, 2, 1e-8);
  const auto power = fit_escape_samples(dimensions, law(0.5, 2.4, 0, 1e-9, 1));
  EXPECT_NEAR(power[2].amplitude.value, 0.5, 1e-7);
  EXPECT_NEAR(power[2].exponent.value, 2.4, 1e-8);
}

TEST(EscapeFits, ErrorsAreThoseOfRepeatedMeasurements) {
  constexpr int repetitions = 400;
  std::vector<double> exponents;
  double chi2 = 0;
  ScalingFit one;
  for (int k = 0; k < repetitions; ++k) {
    one = fit_escape_samples(dimensions, law(1, 2.2, 0, 0.03, 10 + k))[2];
    exponents.push_back(one.exponent.value);
    chi2 += one.chi2 / repetitions;
  }
  const Estimate mean = mean_and_error(exponents);
  EXPECT_NEAR(mean.value, 2.2, 4 * mean.se);
  EXPECT_NEAR(mean.se * std::sqrt(repetitions), one.exponent.se, 0.15 * one.exponent.se);
  EXPECT_NEAR(chi2, one.degrees, 0.4);
}

TEST(EscapeFits, TheLawThatHoldsIsTheBestSupported) {
  // log d grows from 3.9 to 6.7 here: a factor 1.7 against errors of 2 %.
  const auto with_log = fit_escape_samples(dimensions, law(1, 2, 1, 0.02, 5));
  EXPECT_LT(with_log[0].aic, with_log[1].aic - 100);
  const auto square = fit_escape_samples(dimensions, law(1, 2, 0, 0.02, 5));
  EXPECT_LT(square[1].aic, square[0].aic - 100);
  EXPECT_LT(square[1].aic, square[2].aic + 1e-9);
}

TEST(EscapeFits, RefuseWhatCannotBeFitted) {
  EXPECT_THROW(fit_escape_samples({50}, {{1, 1}}), InvalidParameter);
  EXPECT_THROW(fit_escape_samples({50, 100}, {{1, 0}, {2, 1}}), InvalidParameter);
}

TEST(WeakRecovery, SoftmaxEscapesAtASquareOfTheDimension) {
  set_thread_budget(0);
  DynamicsProblem problem;
  WeakRecoveryOptions options;
  options.dimensions = {24, 40, 64};
  options.step_noise = 0.5;
  options.seeds = 6;
  int reported = 0;
  const WeakRecoveryStudy study =
      study_weak_recovery(problem, options, [&](const EscapeAt& /*escape*/) { ++reported; });
  EXPECT_EQ(reported, 3);
  ASSERT_EQ(study.escapes.size(), 3U);
  for (const EscapeAt& escape : study.escapes) {
    EXPECT_EQ(escape.escaped, 6);
    EXPECT_NEAR(escape.samples.value, escape.time.value * escape.dimension * escape.dimension / 0.5,
                1e-9 * escape.samples.value);
  }
  ASSERT_EQ(study.fits.size(), 3U);
  EXPECT_NEAR(study.fits[2].exponent.value, 2, 4 * study.fits[2].exponent.se);

  options.dimensions = {24};
  options.rule = StepRule::logarithmic;
  const EscapeAt slower = study_weak_recovery(problem, options).escapes.front();
  EXPECT_NEAR(slower.samples.value, slower.time.value * 24 * 24 * std::log(24) / 0.5,
              1e-6 * slower.samples.value);
  const Json json = to_json(problem, options, study);
  EXPECT_EQ(json["escapes"].size(), 3U);
  EXPECT_EQ(json["fits"][2]["law"], "A d^x");
}

TEST(WeakRecovery, VerdictIsThatOfTheCrossGradient) {
  DynamicsProblem problem;
  // h2 of one pair: Phi = 3 q^2 + 3 Q0^2 - 2 q Q0 - 4 m^2 + const, so that g = Phi_m = -8 m: nothing for a
  // symmetric start, and -8 t1 t0 for a tied one that meets a positive semidefinite teacher.
  problem.model = attention_indexed_model(Architecture::h2);
  const double t0 = std::sqrt(0.5);
  const RecoveryVerdict tied = recovery_verdict(problem, 0.3);
  EXPECT_TRUE(tied.recovers);
  EXPECT_NEAR(tied.cross_gradient.value, -8 * 0.3 * t0, 1e-8);
  problem.parametrization = Parametrization::direct;
  const RecoveryVerdict direct = recovery_verdict(problem, 0.3);
  EXPECT_FALSE(direct.recovers);
  EXPECT_NEAR(direct.cross_gradient.value, 0, 1e-8);
  problem.model = attention_indexed_model(Architecture::softmax);
  EXPECT_TRUE(recovery_verdict(problem, 0.3).recovers);
}

TEST(WeakRecovery, UntiedVerdictDependsOnTheSizeOfTheStart) {
  // Second Hermite polynomial, labels with a linear part, one token: mu* differs from 0 while 3 v < v0, where
  // v = start^2/kappa and v0 = 2 Q0 are the variances of scores (10.72).
  AttentionIndexedOptions asked;
  asked.centred = false;
  asked.tokens = 1;
  DynamicsProblem problem;
  problem.model = attention_indexed_model(Architecture::h2, asked);
  problem.model.series = {0, std::sqrt(0.5), 0};
  problem.model.teacher_series = {1, std::sqrt(0.5), 0};
  problem.parametrization = Parametrization::untied;
  problem.traceless = true;
  EXPECT_TRUE(recovery_verdict(problem, 0.3).recovers);
  EXPECT_FALSE(recovery_verdict(problem, 1.2).recovers);
}

TEST(WeakRecovery, GivesUpInTime) {
  set_thread_budget(0);
  DynamicsProblem problem;
  WeakRecoveryOptions options;
  options.dimensions = {24, 32};
  options.time = 0.001;
  options.seeds = 2;
  const WeakRecoveryStudy study = study_weak_recovery(problem, options);
  EXPECT_EQ(study.escapes.front().escaped, 0);
  EXPECT_TRUE(std::isnan(study.escapes.front().samples.value));
  EXPECT_TRUE(study.fits.empty());
}

}  // namespace
}  // namespace qklab::experiment
