#include "qklab/experiment/generalization/scaling_study.hpp"

#include <gtest/gtest.h>

#include "qklab/core/error.hpp"

namespace qklab::experiment {
namespace {

Plan plan_of(const std::vector<std::pair<std::string, std::string>>& settings) {
  Description description(problem_options());
  for (const auto& [name, text] : settings) description.set(name, text);
  return plan(description);
}

TEST(SampleSeries, SortsEachCombinationAlongTheSamples) {
  const auto all = sample_series(plan_of({{"teacher", "power-law"}, {"gamma", "1,2"}, {"alpha", "3,1,2"}}));
  ASSERT_EQ(all.size(), 2U);
  for (const auto& series : all) {
    ASSERT_EQ(series.size(), 3U);
    EXPECT_EQ(series[0].alpha, 1);
    EXPECT_EQ(series[2].alpha, 3);
  }
  EXPECT_EQ(std::get<PowerLawTeacher>(all[1][0].teacher).gamma, 2);
}

TEST(SampleSeries, RefusesAPlanWithoutSamplesToFollow) {
  EXPECT_THROW(sample_series(plan_of({{"alpha", "1"}})), InvalidParameter);
  EXPECT_THROW(sample_series(plan_of({{"alpha", "1"}, {"lambda", "1,2"}})), InvalidParameter);
}

TEST(StudyScaling, TrainsAtPointsSpreadFromEndToEnd) {
  const auto series = sample_series(plan_of({{"teacher", "power-law"},
                                             {"tokens", "1"},
                                             {"activation", "identity"},
                                             {"noise_out", "0.5"},
                                             {"dimension", "16"},
                                             {"alpha", "0.5:8:5:log"}}))
                          .front();
  CompareOptions options;
  options.seeds = 2;
  options.train.test_samples = 200;
  const ScalingStudy study = study_scaling(series, {.modes = 2}, options, 3);
  ASSERT_EQ(study.law.points.size(), 5U);
  ASSERT_EQ(study.trained.size(), 3U);
  EXPECT_EQ(study.trained[0].theory.problem.alpha, 0.5);
  EXPECT_NEAR(study.trained[1].theory.problem.alpha, 2, 1e-12);
  EXPECT_NEAR(study.trained[2].theory.problem.alpha, 8, 1e-12);
  for (const Comparison& point : study.trained) {
    EXPECT_EQ(point.runs.size(), 2U);
    EXPECT_EQ(point.runs[0].problem.lambda, point.theory.problem.lambda);
  }
  EXPECT_TRUE(study_scaling(series, {.modes = 0}, options, 0).trained.empty());
}

}  // namespace
}  // namespace qklab::experiment
