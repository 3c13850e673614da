#include "qklab/experiment/comparison/json.hpp"

#include <nlohmann/json.hpp>

#include "experiment/document/json_parts.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/experiment/comparison/spectral_parts.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::experiment {
namespace {

void put_outcome(Json& json, Outcome outcome) {
  json["converged"] = is_answer(outcome);
  json["outcome"] = describe(outcome);
}

Json edges_json(const std::vector<Interval>& edges) {
  Json json = Json::array();
  for (const Interval& edge : edges) json.push_back({edge.lo, edge.hi});
  return json;
}

Json curve_json(const DensityCurve& curve) {
  return {{"x", curve.x}, {"p", curve.p}};
}

Json measurements(const lab::TrainedRun& run, bool with_eigenvalues) {
  Json json;
  put(json, "test_error", run.test_error);
  json["train_loss"] = run.train_loss;
  json["regularization"] = run.regularization;
  json["overlap"] = run.overlap;
  json["self_overlap"] = run.self_overlap;
  const bool untied = run.problem.parametrization == Parametrization::untied;
  if (untied) json["antisymmetric_self_overlap"] = run.antisymmetric_self_overlap;
  json["zero_fraction"] = run.zero_fraction;
  json["zero_below"] = zero_below;
  if (with_eigenvalues) json["eigenvalues"] = run.eigenvalues;
  if (with_eigenvalues && untied) json["singular_values"] = run.singular_values;
  json["epochs"] = run.epochs;
  if (run.optimizer == lab::Optimizer::amp) json["message_passes"] = run.message_passes;
  json["gradient_norm"] = run.gradient_norm;
  json["seconds"] = run.seconds;
  json["data"] = lab::to_string(run.memory.storage);
  json["memory_gib"] = run.memory.bytes / gibibyte;
  put_outcome(json, run.outcome);
  json["seed"] = run.seed;
  return json;
}

Json options_json(const lab::TrainOptions& options) {
  Json json{{"optimizer", to_string(options.optimizer)},
            {"precision", to_string(options.precision)},
            {"gradient_tolerance", options.gradient_tolerance},
            {"max_epochs", options.max_epochs}};
  if (has_learning_rate(options.optimizer)) json["learning_rate"] = options.learning_rate;
  json["test_samples"] = options.test_samples;
  return json;
}

/// With the optimizer that was used, where the options leave that open.
lab::TrainOptions as_used(lab::TrainOptions options, const lab::TrainedRun& run) {
  if (options.optimizer == lab::Optimizer::automatic) options.optimizer = run.optimizer;
  return options;
}

lab::TrainOptions as_used(const lab::TrainOptions& options, const Comparison& comparison) {
  return comparison.runs.empty() ? options : as_used(options, comparison.runs.front());
}

Json train_json(const Comparison& comparison, const CompareOptions& options,
                const std::vector<Deviation>& quantities) {
  Json json;
  for (const Deviation& quantity : quantities) {
    json[quantity.quantity] = {{"mean", quantity.trained.value}, {"se", quantity.trained.se}};
    json["mean"][quantity.quantity] = quantity.trained.value;
    json["se"][quantity.quantity] = quantity.trained.se;
  }
  json["zero_below"] = zero_below;
  json["seeds"] = comparison.runs.size();
  json["dimension"] = comparison.theory.problem.dimension;
  json.update(options_json(as_used(options.train, comparison)));
  json["runs"] = Json::array();
  for (const lab::TrainedRun& run : comparison.runs) json["runs"].push_back(measurements(run, false));
  return json;
}

Json outliers_json(const Comparison& comparison) {
  constexpr int most = 1000;
  Json list = Json::array();
  for (const ModeComparison& mode : compare_modes(comparison, most)) {
    Json one{{"teacher", mode.predicted.teacher},     {"location", mode.predicted.location},
             {"alignment", mode.predicted.alignment}, {"learned", mode.predicted.learned},
             {"recovered", mode.predicted.recovered}, {"rank", mode.rank}};
    if (!comparison.runs.empty()) {
      one["train"] = {{"location", estimate_json(mode.location)},
                      {"alignment", estimate_json(mode.alignment)},
                      {"learned", estimate_json(mode.learned)}};
    }
    list.push_back(one);
  }
  return list;
}

Json profile_json(const Comparison& comparison) {
  Json json{{"student", Json::array()}, {"teacher", Json::array()}};
  for (const theory::Level& level : theory::level_profile(comparison.theory.spectrum, profile_points)) {
    json["student"].push_back(level.student);
    json["teacher"].push_back(level.teacher);
  }
  if (comparison.runs.empty()) return json;
  json["train"] = {{"student", Json::array()}, {"teacher", Json::array()}, {"teacher_se", Json::array()}};
  for (const MeasuredLevel& level : measured_profile(comparison, profile_bins)) {
    json["train"]["student"].push_back(level.student);
    json["train"]["teacher"].push_back(level.teacher.value);
    json["train"]["teacher_se"].push_back(level.teacher.se);
  }
  return json;
}

}  // namespace

Json to_json(const theory::Solution& solution, const theory::SolveOptions& options) {
  Json json = to_json(solution.problem);
  json["estimator"] = "erm";
  put(json, "overlap", solution.overlap);
  put(json, "self_overlap", solution.self_overlap);
  if (theory::is_sampled(solution.problem)) {
    put(json, "antisymmetric_self_overlap", solution.antisymmetric_self_overlap);
  }
  put(json, "susceptibility", solution.susceptibility);
  put(json, "overlap_hat", solution.overlap_hat);
  put(json, "self_overlap_hat", solution.self_overlap_hat);
  put(json, "susceptibility_hat", solution.susceptibility_hat);
  put(json, "test_error", solution.test_error);
  put(json, "train_loss", solution.train_loss);
  put(json, "train_error", solution.train_error);
  put(json, "regularization", solution.regularization);
  put(json, "zero_fraction", solution.zero_fraction);
  json["edges"] = edges_json(solution.edges);
  put(json, "stability", solution.stability);
  json["stable"] = solution.stable;
  json["effective_modes"] = effective_modes(solution.problem);
  put_outcome(json, solution.outcome);
  json["iterations"] = solution.iterations;
  json["residual"] = solution.residual;
  json["estimator_gap"] = solution.estimator_gap;
  json["competing_minima"] = solution.competing_minima;
  json["unconverged_proximals"] = solution.unconverged_proximals;
  json["redraws"] = solution.redraws;
  if (theory::is_sampled(solution.problem)) json["sampled_dimension"] = solution.sampled_dimension;
  json["tolerance"] = options.tolerance;
  put_sampling(json, options.qmc);
  json["version"] = version;
  return json;
}

Json to_json(const theory::BayesSolution& solution, const theory::SolveOptions& options) {
  Json json = to_json(solution.problem);
  for (const char* of_a_student : {"kappa", "width", "parametrization", "lambda"}) json.erase(of_a_student);
  json["estimator"] = "bayes";
  json["overlap"] = solution.overlap;
  json["self_overlap"] = solution.overlap;
  put(json, "squared_error", {solution.squared_error, solution.squared_error_se});
  put(json, "overlap_hat", {solution.overlap_hat, solution.overlap_hat_se});
  put(json, "test_error", solution.test_error);
  put_outcome(json, solution.outcome);
  json["iterations"] = solution.iterations;
  json["residual"] = solution.residual;
  put_sampling(json, options.qmc);
  json["version"] = version;
  return json;
}

Json to_json(const lab::TrainedRun& run, const lab::TrainOptions& options, bool with_eigenvalues) {
  Json json = to_json(run.problem);
  json.update(measurements(run, with_eigenvalues));
  json.update(options_json(as_used(options, run)));
  json["version"] = version;
  return json;
}

Json to_json(const Comparison& comparison, const CompareOptions& options) {
  const std::vector<Deviation> quantities = deviations(comparison);
  Json json;
  json["theory"] = to_json(comparison.theory, options.solve);
  json["train"] = train_json(comparison, options, quantities);
  for (const Deviation& quantity : quantities) json["deviation"][quantity.quantity] = quantity.in_errors;
  put_outcome(json, comparison.outcome);
  json["version"] = version;
  return json;
}

Json price_json(const Comparison& comparison, const theory::BayesSolution& reference,
                const CompareOptions& options) {
  Json json;
  json["theory"] = to_json(reference, options.solve);
  json["erm"] = to_json(comparison.theory, options.solve);
  json["train"] = train_json(comparison, options, deviations(comparison));
  json["deviation_is"] = "the price of empirical risk minimisation, not a test of the theory";
  for (const Deviation& quantity : deviations(comparison, reference)) {
    json["deviation"][quantity.quantity] = quantity.in_errors;
  }
  put_outcome(json, comparison.outcome);
  json["version"] = version;
  return json;
}

Json spectrum_json(const Comparison& comparison, const CompareOptions& options, int points) {
  const theory::Solution& solution = comparison.theory;
  Json json = to_json(solution, options.solve);
  put_outcome(json, comparison.outcome);
  json["density"] = curve_json(eigenvalue_density(solution.spectrum, points));
  json["singular_density"] = curve_json(singular_value_density(solution.spectrum, points));
  json["atoms"] = Json::array();
  if (solution.zero_fraction.value > 0) {
    json["atoms"].push_back({{"location", 0}, {"mass", solution.zero_fraction.value}});
  }
  json["outliers"] = outliers_json(comparison);
  json["profile"] = profile_json(comparison);
  if (comparison.runs.empty()) return json;

  std::vector<double> eigenvalues;
  Json run_list = Json::array();
  for (const lab::TrainedRun& run : comparison.runs) {
    eigenvalues.insert(eigenvalues.end(), run.eigenvalues.begin(), run.eigenvalues.end());
    run_list.push_back(measurements(run, true));
  }
  const Histogram bars = histogram(eigenvalues);
  json["histogram"] = {{"bin_edges", bars.bin_edges}, {"p", bars.p}};
  json["train"] = {{"seeds", comparison.runs.size()}, {"dimension", solution.problem.dimension}};
  json["train"].update(options_json(as_used(options.train, comparison)));
  json["train"]["runs"] = run_list;
  return json;
}

}  // namespace qklab::experiment
