#include "qklab/experiment/comparison/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace qklab::experiment {
namespace {

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> names;
  for (const auto& [key, value] : json.items()) names.push_back(key);
  return names;
}

void expect_keys(const Json& json, const std::vector<std::string>& wanted) {
  for (const std::string& key : wanted) EXPECT_TRUE(json.contains(key)) << key;
}

theory::Solution solution() {
  theory::Solution solution;
  solution.test_error = {0.1, 1e-4};
  solution.stability = {std::numeric_limits<double>::infinity(), 0};
  solution.edges = {{0, 1.5}, {2, 3}};
  solution.outcome = Outcome::converged;
  return solution;
}

TEST(Json, StatesTheProblemByOptionNames) {
  EXPECT_EQ(keys(to_json(Problem{})),
            (std::vector<std::string>{"alpha", "tokens", "activation", "beta", "task", "noise_in",
                                      "noise_out", "teacher", "kappa0", "kappa", "parametrization", "lambda",
                                      "dimension", "samples", "width"}));
}

TEST(Json, StatesEveryTeacherCompletely) {
  Problem problem;
  problem.dimension = 3;
  problem.teacher = PowerLawTeacher{1.5, 0};
  EXPECT_EQ(to_json(problem)["teacher"], "power-law");
  EXPECT_EQ(to_json(problem)["gamma"], 1.5);
  EXPECT_EQ(to_json(problem)["modes"], 3);
  problem.teacher = SpectrumTeacher{"list.txt", {1, 2, 3}};
  EXPECT_EQ(to_json(problem)["teacher"], "spectrum:list.txt");
  EXPECT_EQ(to_json(problem)["spectrum"], (std::vector<double>{1, 2, 3}));
}

TEST(Json, HoldsEveryQuantityOfASolution) {
  const Json json = to_json(solution(), theory::SolveOptions{});
  expect_keys(json, {"alpha",
                     "overlap",
                     "self_overlap",
                     "susceptibility",
                     "overlap_hat",
                     "self_overlap_hat",
                     "susceptibility_hat",
                     "test_error",
                     "test_error_se",
                     "train_loss",
                     "train_loss_se",
                     "train_error",
                     "regularization",
                     "zero_fraction",
                     "edges",
                     "stability",
                     "stable",
                     "converged",
                     "outcome",
                     "iterations",
                     "residual",
                     "estimator_gap",
                     "competing_minima",
                     "seed",
                     "log2_points",
                     "version"});
  EXPECT_EQ(json["converged"], true);
  EXPECT_EQ(json["outcome"], "converged");
  EXPECT_EQ(json["edges"].dump(), "[[0.0,1.5],[2.0,3.0]]");
}

TEST(Json, WritesNullForWhatIsNotFinite) {
  const std::string text = to_json(solution(), theory::SolveOptions{}).dump();
  EXPECT_NE(text.find("\"stability\":null"), std::string::npos);
}

TEST(Json, NumbersReadBackTheSame) {
  theory::Solution exact = solution();
  exact.test_error.value = 0.1 + 0.2;
  exact.residual = 4.9406564584124654e-324;
  const Json back = Json::parse(to_json(exact, theory::SolveOptions{}).dump());
  EXPECT_EQ(back["test_error"].get<double>(), exact.test_error.value);
  EXPECT_EQ(back["residual"].get<double>(), exact.residual);
}

TEST(Json, HoldsEveryMeasurementOfARun) {
  lab::TrainedRun run;
  run.eigenvalues = {0, 1};
  run.outcome = Outcome::interrupted;
  const Json json = to_json(run, lab::TrainOptions{}, true);
  expect_keys(json, {"alpha", "test_error", "test_error_se", "train_loss", "regularization", "overlap",
                     "self_overlap", "zero_fraction", "zero_below", "eigenvalues", "epochs", "gradient_norm",
                     "seconds", "converged", "outcome", "seed", "optimizer", "precision", "version"});
  EXPECT_EQ(json["converged"], false);
  EXPECT_EQ(json["outcome"], "interrupted");
  EXPECT_FALSE(to_json(run, lab::TrainOptions{}, false).contains("eigenvalues"));
  EXPECT_FALSE(json.contains("singular_values"));

  run.problem.parametrization = Parametrization::untied;
  run.singular_values = {0.5, 1};
  run.antisymmetric_self_overlap = 0.25;
  const Json untied = to_json(run, lab::TrainOptions{}, true);
  EXPECT_EQ(untied["singular_values"], (std::vector<double>{0.5, 1}));
  EXPECT_EQ(untied["antisymmetric_self_overlap"], 0.25);
  EXPECT_FALSE(to_json(run, lab::TrainOptions{}, false).contains("singular_values"));
}

TEST(Json, HoldsTheoryTrainedRunsAndDeviations) {
  Comparison comparison{solution(), {lab::TrainedRun{}, lab::TrainedRun{}}, Outcome::converged};
  comparison.runs[0].test_error.value = 0.1;
  comparison.runs[1].test_error.value = 0.3;
  const Json json = to_json(comparison, CompareOptions{});
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"theory", "train", "deviation", "converged", "outcome", "version"}));
  for (const char* quantity :
       {"test_error", "train_loss", "regularization", "overlap", "self_overlap", "zero_fraction"}) {
    expect_keys(json["train"][quantity], {"mean", "se"});
    EXPECT_EQ(json["train"]["mean"][quantity], json["train"][quantity]["mean"]);
    EXPECT_TRUE(json["deviation"].contains(quantity));
  }
  EXPECT_DOUBLE_EQ(json["train"]["test_error"]["mean"].get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(json["train"]["test_error"]["se"].get<double>(), 0.1);
  EXPECT_EQ(json["train"]["seeds"], 2);
  EXPECT_EQ(json["train"]["runs"].size(), 2u);
  EXPECT_EQ(json["train"]["dimension"], comparison.theory.problem.dimension);
}

}  // namespace
}  // namespace qklab::experiment
