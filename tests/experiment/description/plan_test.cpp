#include "qklab/experiment/description/plan.hpp"

#include <gtest/gtest.h>

#include "experiment/message_of.hpp"
#include "experiment/temporary_file.hpp"
#include "qklab/core/memory.hpp"

namespace qklab::experiment {
namespace {

using test::message_of;
using test::TemporaryFile;

using Settings = std::vector<std::pair<std::string, std::string>>;

Plan plan_of(const Settings& settings) {
  Description description(problem_options());
  for (const auto& [name, text] : settings) description.set(name, text);
  return plan(description);
}

std::string complaint(const Settings& settings) {
  return message_of([&] { plan_of(settings); });
}

TEST(Plan, StandardValuesAreThoseOfAProblem) {
  const Plan plan = plan_of({{"alpha", "1"}});
  ASSERT_EQ(plan.points.size(), 1u);
  const Problem& point = plan.points.front();
  const Problem standard;
  EXPECT_TRUE(plan.axes.empty());
  EXPECT_EQ(point.tokens, standard.tokens);
  EXPECT_EQ(point.activation, standard.activation);
  EXPECT_EQ(point.lambda, 0.01);
  EXPECT_EQ(point.dimension, 200);
  EXPECT_EQ(std::get<WishartTeacher>(point.teacher).kappa0, 0.5);
}

TEST(Plan, PlainNumbersStateTheSameAsRatios) {
  const Plan plan = plan_of({{"samples", "2e5"}, {"width", "128"}, {"dimension", "512"}});
  const Problem& point = plan.points.front();
  EXPECT_DOUBLE_EQ(point.alpha, 2e5 / 512 / 512);
  EXPECT_DOUBLE_EQ(point.kappa, 0.25);
  EXPECT_EQ(sample_count(point), 200000);
  EXPECT_EQ(student_width(point), 128);
  EXPECT_DOUBLE_EQ(option_value(point, "samples"), 2e5);
}

TEST(Plan, PlainNumbersFollowTheDimensionOfEachPoint) {
  const Plan plan = plan_of({{"samples", "1000,2000"}, {"dimension", "50,100"}});
  ASSERT_EQ(plan.points.size(), 4u);
  EXPECT_EQ(plan.axes[0].option, "samples");
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(sample_count(plan.points[i]), i % 2 == 0 ? 1000 : 2000);
  }
}

TEST(Plan, ARatioAndItsPlainNumberExcludeEachOther) {
  EXPECT_EQ(complaint({{"alpha", "1"}, {"samples", "100"}}),
            "samples = 100: states the same as alpha: give one of them");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"kappa", "1"}, {"width", "100"}}),
            "width = 100: states the same as kappa: give one of them");
}

TEST(Plan, ParametrizationsMayBeAList) {
  const Plan plan = plan_of({{"alpha", "1,2"}, {"parametrization", "tied,direct"}});
  ASSERT_EQ(plan.points.size(), 4u);
  ASSERT_EQ(plan.axes.size(), 2u);
  EXPECT_EQ(plan.axes[1].option, "parametrization");
  EXPECT_EQ(plan.points[1].parametrization, Parametrization::tied);
  EXPECT_EQ(plan.points[2].parametrization, Parametrization::direct);
  EXPECT_NE(complaint({{"alpha", "1"}, {"parametrization", "tied,fancy"}}).find("fancy"), std::string::npos);
}

TEST(Plan, TheBestWeightDecayIsAWish) {
  EXPECT_TRUE(plan_of({{"alpha", "1"}, {"lambda", "best"}}).at_best_lambda);
  EXPECT_FALSE(plan_of({{"alpha", "1"}, {"lambda", "0.1"}}).at_best_lambda);
}

TEST(Plan, CombinesAllValuesWithAlphaFastest) {
  const Plan plan = plan_of({{"lambda", "0.1,0.2"}, {"alpha", "1:3:3"}, {"kappa0", "0.5,0.7"}});
  ASSERT_EQ(plan.points.size(), 12u);
  ASSERT_EQ(plan.axes.size(), 3u);
  EXPECT_EQ(plan.axes[0].option, "alpha");
  EXPECT_EQ(plan.axes[1].option, "kappa0");
  EXPECT_EQ(plan.axes[2].option, "lambda");
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    EXPECT_EQ(option_value(plan.points[i], "alpha"), plan.axes[0].values[i % 3]);
    EXPECT_EQ(option_value(plan.points[i], "kappa0"), plan.axes[1].values[i / 3 % 2]);
    EXPECT_EQ(option_value(plan.points[i], "lambda"), plan.axes[2].values[i / 6]);
    EXPECT_EQ(plan.starts_a_series(i), i % 3 == 0);
  }
}

TEST(Plan, TakesEveryOptionOfTheProblem) {
  const Plan plan = plan_of({{"alpha", "0.3"},
                             {"tokens", "3"},
                             {"activation", "softmax"},
                             {"beta", "2"},
                             {"task", "seq2seq"},
                             {"noise_in", "0.1"},
                             {"noise_out", "0.2"},
                             {"teacher", "power-law"},
                             {"gamma", "1.5"},
                             {"modes", "7"},
                             {"kappa", "0.4"},
                             {"parametrization", "direct"},
                             {"lambda", "0"},
                             {"dimension", "50"}});
  const Problem& point = plan.points.front();
  EXPECT_EQ(point.alpha, 0.3);
  EXPECT_EQ(point.tokens, 3);
  EXPECT_EQ(point.beta, 2);
  EXPECT_EQ(point.task, Task::seq2seq);
  EXPECT_EQ(point.noise_in, 0.1);
  EXPECT_EQ(point.noise_out, 0.2);
  EXPECT_EQ(std::get<PowerLawTeacher>(point.teacher).gamma, 1.5);
  EXPECT_EQ(std::get<PowerLawTeacher>(point.teacher).modes, 7);
  EXPECT_EQ(point.kappa, 0.4);
  EXPECT_EQ(point.parametrization, Parametrization::direct);
  EXPECT_EQ(point.lambda, 0);
  EXPECT_EQ(point.dimension, 50);
}

TEST(Plan, ASpectrumFixesTheDimension) {
  const TemporaryFile file("3\n2\n1\n", ".txt");
  const std::string teacher = "spectrum:" + file.path();
  EXPECT_EQ(plan_of({{"alpha", "1"}, {"teacher", teacher}}).points.front().dimension, 3);
  EXPECT_EQ(plan_of({{"alpha", "1"}, {"teacher", teacher}, {"dimension", "3"}}).points.front().dimension, 3);
  EXPECT_EQ(complaint({{"alpha", "1"}, {"teacher", teacher}, {"dimension", "4"}}),
            "dimension = 4: a spectrum teacher fixes it to its number of eigenvalues, 3");
}

TEST(Plan, ChecksEveryPointBeforeItReturnsOne) {
  EXPECT_EQ(complaint({{"alpha", "1,2,-1"}}), "alpha = -1: the sample ratio n/d^2 must be > 0 and finite");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"kappa0", "0.5,-0.1"}}),
            "kappa0 = -0.1: the target's rank ratio must be > 0 and finite");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"tokens", "0"}}), "tokens = 0: must be in 1..2147483647");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"teacher", "power-law"}, {"modes", "0"}}),
            "modes = 0: must be in 1..2147483647");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"dimension", "1e10"}}),
            "dimension = 10000000000: must be in 1..2147483647");
}

TEST(Plan, RefusesOptionsWithoutEffect) {
  EXPECT_EQ(complaint({{"alpha", "1"}, {"gamma", "1"}}), "gamma = 1: has no effect with teacher = wishart");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"modes", "3"}}), "modes = 3: has no effect with teacher = wishart");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"teacher", "power-law"}, {"kappa0", "0.5"}}),
            "kappa0 = 0.5: has no effect with teacher = power-law");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"activation", "identity"}, {"beta", "2"}}),
            "beta = 2: has no effect with activation = identity");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"activation", "identity"}, {"beta", "1"}}), "(no error)");
}

TEST(Plan, RefusesUnknownWords) {
  EXPECT_EQ(complaint({{"alpha", "1"}, {"teacher", "goe"}}),
            "teacher = goe: must be one of wishart, power-law, spectrum:FILE");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"teacher", "spectrum:"}}),
            "teacher = spectrum:: must be one of wishart, power-law, spectrum:FILE");
  EXPECT_EQ(complaint({{"alpha", "1"}, {"task", "seq"}}), "task = seq: must be one of seq2lab, seq2seq");
}

TEST(Plan, RefusesTeachersTooLargeToHold) {
  if (available_memory() > 1e11) GTEST_SKIP() << "this machine can hold it";
  const std::string message = complaint({{"alpha", "1"}, {"teacher", "power-law"}, {"dimension", "2e9"}});
  EXPECT_EQ(message.find("dimension = 2000000000: a teacher of that many modes needs 119 GiB"), 0u)
      << message;
}

TEST(Plan, RefusesGridsTooLargeToHold) {
  EXPECT_EQ(complaint({{"alpha", "1:2:1000"}, {"lambda", "1:2:1000"}}),
            "grid = 1000000: points; must be at most 100000");
}

}  // namespace
}  // namespace qklab::experiment
