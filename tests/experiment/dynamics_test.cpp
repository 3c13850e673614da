#include "qklab/experiment/dynamics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiment/message_of.hpp"
#include "qklab/core/threads.hpp"

namespace qklab::experiment {
namespace {

DynamicsProblem softmax_problem() {
  DynamicsProblem problem;
  problem.dimension = 60;
  return problem;
}

DynamicsOptions short_options() {
  DynamicsOptions options;
  options.times = {0, 0.25, 0.5, 1};
  options.step = 0.1;
  options.batch = 40;
  options.seeds = 3;
  return options;
}

std::vector<MethodRun> followed(const DynamicsProblem& problem, const std::vector<Method>& methods,
                                const DynamicsOptions& options) {
  std::vector<MethodRun> runs;
  follow(problem, methods, options, [&](const MethodRun& run) { runs.push_back(run); });
  return runs;
}

TEST(Dynamics, MethodsShareOneClock) {
  set_thread_budget(0);
  const auto runs =
      followed(softmax_problem(), {Method::sgd, Method::exact, Method::truncated}, short_options());
  ASSERT_EQ(runs.size(), 3U);
  for (const MethodRun& run : runs) {
    ASSERT_EQ(run.points.size(), 4U) << to_string(run.method);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(run.points[i].time, short_options().times[i], 0.1 / 60);
      EXPECT_NEAR(run.points[i].samples, run.points[i].time * 60 * 40 / 0.1, 1e-6);
    }
    EXPECT_EQ(run.outcome, Outcome::converged);
  }
  EXPECT_EQ(runs[0].seeds, 3);
  EXPECT_EQ(runs[0].runs.size(), 3U);
  EXPECT_EQ(runs[2].order, 4);
}

TEST(Dynamics, EscapesOfTheoryAreThoseOfDescent) {
  // nu = 0.04, so that the noise of the batches is small; what remains is of order 1/d, below 8 %.
  set_thread_budget(0);
  DynamicsOptions options = short_options();
  options.batch = 150;
  options.times = {0.5};
  options.seeds = 4;
  const auto runs = followed(softmax_problem(), {Method::sgd, Method::exact}, options);
  for (int k = 0; k < 3; ++k) {
    const MeanEscape& measured = runs[0].escapes[k];
    const MeanEscape& predicted = runs[1].escapes[k];
    EXPECT_EQ(measured.escaped, 1);
    EXPECT_EQ(predicted.escaped, 1);
    EXPECT_NEAR(measured.time.value, predicted.time.value,
                3 * measured.time.se + 0.08 * predicted.time.value);
  }
}

TEST(Dynamics, TimesOfTheoryDoNotDependOnWhatIsReported) {
  DynamicsOptions options = short_options();
  const MethodRun few = followed(softmax_problem(), {Method::exact}, options).front();
  options.times = {0.1, 0.2, 0.25, 1};
  const MethodRun other = followed(softmax_problem(), {Method::exact}, options).front();
  EXPECT_NEAR(few.points[1].overlap.value, other.points[2].overlap.value, 1e-8);
  EXPECT_NEAR(few.escapes[1].time.value, other.escapes[1].time.value, 1e-5);
}

TEST(Dynamics, NoiseOnLabelsRaisesTheLossAlone) {
  DynamicsProblem problem = softmax_problem();
  const MethodRun clean = followed(problem, {Method::exact}, short_options()).front();
  problem.model.noise_out = 0.3;
  const MethodRun noisy = followed(problem, {Method::exact}, short_options()).front();
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(noisy.points[i].overlap.value, clean.points[i].overlap.value);
    EXPECT_NEAR(noisy.points[i].loss.value, clean.points[i].loss.value + 4 * 0.3, 1e-12);
  }
}

TEST(Dynamics, TracelessTeachersHaveNoMean) {
  DynamicsProblem problem = softmax_problem();
  problem.traceless = true;
  EXPECT_NEAR(draw_teachers(problem, 1).front().trace(), 0, 1e-12);
  EXPECT_NEAR(moment(teacher_nodes(problem), 1), 0, 1e-12);
  EXPECT_NEAR(moment(teacher_nodes(problem), 2), 1, 1e-10);  // 1 + kappa0 - kappa0
}

TEST(Dynamics, JsonHoldsWhatWasMeasured) {
  DynamicsOptions options = short_options();
  options.seeds = 2;
  options.spectra = true;
  const auto runs = followed(softmax_problem(), {Method::sgd, Method::exact}, options);
  for (const MethodRun& run : runs) {
    const Json json = to_json(softmax_problem(), options, run);
    EXPECT_EQ(json["method"], to_string(run.method));
    for (const char* name : {"time", "samples", "overlap", "self_overlap", "trace", "alignment",
                             "centred_alignment", "loss", "loss_se"}) {
      EXPECT_EQ(json[name].size(), 4U) << name;
    }
    EXPECT_EQ(json["overlap"][2].get<double>(), run.points[2].overlap.value);
    EXPECT_EQ(json["escape"]["0.3"]["time"].get<double>(), run.escapes[1].time.value);
    EXPECT_EQ(json.contains("overlap_se"), run.method == Method::sgd);
    EXPECT_EQ(json.contains("eigenvalues"), run.method == Method::sgd);
    EXPECT_EQ(json["activation"], "softmax");
    EXPECT_EQ(json["converged"], true);
  }
  EXPECT_EQ(to_json(softmax_problem(), options, runs[0])["eigenvalues"][1][2].size(), 60U);
}

TEST(Dynamics, RefusesMethodsThatDoNotKnowTheProblem) {
  DynamicsProblem problem = softmax_problem();
  problem.parametrization = Parametrization::direct;
  EXPECT_EQ(test::message_of([&] { require_method(Method::exact, problem, short_options()); }),
            "method = exact: follows tied students, not direct ones");
  problem = softmax_problem();
  problem.model.covariance(0, 1) = problem.model.covariance(1, 0) = 0.5;
  EXPECT_NE(
      test::message_of([&] { require_method(Method::exact, problem, short_options()); }).find("independent"),
      std::string::npos);
  EXPECT_NO_THROW(require_method(Method::sgd, problem, short_options()));
  for (Method method : {Method::sgd, Method::exact, Method::truncated, Method::words, Method::flow,
                        Method::direct, Method::untied}) {
    EXPECT_EQ(parse_method(to_string(method)), method);
  }
}

}  // namespace
}  // namespace qklab::experiment
