#include "qklab/experiment/learning/dynamics.hpp"

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

TEST(Dynamics, FlowOfMatricesIsTheExactSolutionOfItsSize) {
  // Fluctuations of one start and one teacher are of order 1/d: three seeds at d = 40.
  DynamicsProblem problem;
  problem.dimension = 40;
  problem.model = attention_indexed_model(Architecture::h1);
  DynamicsOptions options = short_options();
  options.times = {0, 0.25, 0.5};
  const auto runs = followed(problem, {Method::flow, Method::exact}, options);
  EXPECT_EQ(runs[0].seeds, 3);
  for (int i = 0; i < 3; ++i) {
    const DynamicsPoint& matrices = runs[0].points[i];
    const DynamicsPoint& limit = runs[1].points[i];
    EXPECT_NEAR(matrices.overlap.value, limit.overlap.value, 4 * matrices.overlap.se + 0.03);
    EXPECT_NEAR(matrices.self_overlap.value, limit.self_overlap.value, 4 * matrices.self_overlap.se + 0.03);
    EXPECT_NEAR(matrices.loss.value, limit.loss.value, 4 * matrices.loss.se + 0.03);
  }
}

TEST(Dynamics, DirectStudentsFollowTheirEquations) {
  set_thread_budget(0);
  DynamicsProblem problem;
  problem.dimension = 40;
  problem.model = attention_indexed_model(Architecture::h1);
  problem.parametrization = Parametrization::direct;
  DynamicsOptions options = short_options();
  options.times = {0, 0.25, 0.5};
  for (lab::DirectStart start : {lab::DirectStart::gaussian, lab::DirectStart::product}) {
    options.direct_start = start;
    options.step_noise = true;
    const MethodRun descent = followed(problem, {Method::sgd}, options).front();
    const MethodRun limit = followed(problem, {Method::direct}, options).front();
    options.step_noise = false;
    const MethodRun matrices = followed(problem, {Method::flow}, options).front();
    const MethodRun without_noise = followed(problem, {Method::direct}, options).front();
    for (int i = 0; i < 3; ++i) {
      const Estimate m = descent.points[i].overlap;
      const Estimate q = descent.points[i].self_overlap;
      EXPECT_NEAR(m.value, limit.points[i].overlap.value, 4 * m.se + 0.03) << i;
      EXPECT_NEAR(q.value, limit.points[i].self_overlap.value, 4 * q.se + 0.03) << i;
      const Estimate flowing = matrices.points[i].overlap;
      EXPECT_NEAR(flowing.value, without_noise.points[i].overlap.value, 4 * flowing.se + 0.03) << i;
    }
    // The noise of the steps alone makes q larger.
    EXPECT_GT(limit.points[1].self_overlap.value, without_noise.points[1].self_overlap.value);
  }
}

TEST(Dynamics, UntiedStudentsLearnFromTheCriticalManifold) {
  // Second Hermite polynomial of one token and labels with a linear part: |mu*| is sqrt(v0 - 3 v) for a small
  // start, v = start^2/kappa and v0 = 2 Q0, and the overlap takes the sign of mu* (10.72).
  set_thread_budget(0);
  AttentionIndexedOptions asked;
  asked.centred = false;
  asked.tokens = 1;
  DynamicsProblem problem;
  problem.model = attention_indexed_model(Architecture::h2, asked);
  problem.model.series = {0, std::sqrt(0.5), 0};
  problem.model.teacher_series = {1, std::sqrt(0.5), 0};
  problem.parametrization = Parametrization::untied;
  problem.traceless = true;
  problem.dimension = 40;
  DynamicsOptions options = short_options();
  options.times = {0, 0.3};
  options.seeds = 1;
  const MethodRun run = followed(problem, {Method::untied}, options).front();
  const double v0 = 2 * run.teacher_self_overlap;
  const DynamicsPoint& start = run.points.front();
  EXPECT_NEAR(std::abs(start.score_mean.value), std::sqrt(v0 - 3 * 0.09), 0.1);
  EXPECT_GT(run.points.back().overlap.value * run.points.back().score_mean.value, 0.1);

  problem.traceless = false;
  EXPECT_NE(test::message_of([&] { require_method(Method::untied, problem, options); }).find("traceless"),
            std::string::npos);
}

TEST(Dynamics, WordsAreTheExactSolutionWhileTheyAreTrusted) {
  DynamicsOptions options = short_options();
  options.times = {0.01, 0.05, 0.1, 2};
  options.order = 8;
  const auto runs = followed(softmax_problem(), {Method::words, Method::exact}, options);
  EXPECT_EQ(runs[0].order, 8);
  EXPECT_GT(runs[0].trusted_until, 0.05);
  EXPECT_LT(runs[0].trusted_until, 2);
  for (int i = 0; i < 3; ++i) {
    if (runs[0].points[i].time > runs[0].trusted_until) continue;
    EXPECT_NEAR(runs[0].points[i].overlap.value, runs[1].points[i].overlap.value, 2e-3);
  }
}

TEST(Dynamics, NoiseOfStepsGrowsTheStudent) {
  DynamicsProblem problem = softmax_problem();
  problem.model = attention_indexed_model(Architecture::h1);
  DynamicsOptions options = short_options();
  options.thresholds = {};
  options.times = {0, 0.05};
  const MethodRun without = followed(problem, {Method::exact}, options).front();
  options.step_noise = true;
  const MethodRun with = followed(problem, {Method::exact}, options).front();
  EXPECT_GT(with.points[1].self_overlap.value, without.points[1].self_overlap.value + 0.005);
  EXPECT_GT(with.points[1].trace.value, without.points[1].trace.value + 0.001);
  DynamicsProblem noisy = softmax_problem();
  noisy.model.noise_out = 0.1;
  EXPECT_NE(test::message_of([&] { require_method(Method::exact, noisy, options); }).find("noise_out"),
            std::string::npos);
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
