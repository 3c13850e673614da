#include "qklab/experiment/comparison/message_passing_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "experiment/document/json_parts.hpp"

namespace qklab::experiment {
namespace {

Json iterate_json(const ComparedIterate& iterate);
Json final_json(const MessagePassing& point, const MessagePassingOptions& options);
Json run_json(const lab::AmpRun& run);
Json value_json(const Problem& problem, const std::string& option);

}  // namespace

std::vector<Json> to_json_lines(const MessagePassing& point, const MessagePassingOptions& options,
                                const std::vector<Axis>& axes) {
  std::vector<Json> lines;
  for (const ComparedIterate& iterate : point.iterates) {
    Json line;
    for (const Axis& axis : axes) line[axis.option] = value_json(point.fixed_point.problem, axis.option);
    line.update(iterate_json(iterate));
    lines.push_back(line);
  }
  lines.push_back(final_json(point, options));
  return lines;
}

namespace {

Json iterate_json(const ComparedIterate& iterate) {
  Json json{{"iteration", iterate.iteration}};
  put(json, "overlap", iterate.overlap);
  put(json, "self_overlap", iterate.self_overlap);
  put(json, "susceptibility", iterate.susceptibility);
  put(json, "test_error", iterate.test_error);
  put(json, "train_loss", iterate.train_loss);
  json["residual"] = iterate.residual;
  json["damping"] = iterate.damping;
  const auto& predicted = iterate.predicted;
  json["predicted_overlap"] = predicted ? Json(predicted->overlap) : Json();
  json["predicted_self_overlap"] = predicted ? Json(predicted->self_overlap) : Json();
  json["predicted_susceptibility"] = predicted ? Json(predicted->susceptibility) : Json();
  json["predicted_test_error"] = predicted ? Json(predicted->test_error.value) : Json();
  json["predicted_test_error_se"] = predicted ? Json(predicted->test_error.se) : Json();
  return json;
}

Json final_json(const MessagePassing& point, const MessagePassingOptions& options) {
  Json json{{"final", true}};
  json.update(to_json(point.fixed_point.problem));
  const bool is_bayes = options.amp.estimator == lab::AmpEstimator::bayes;
  if (is_bayes) {
    for (const char* of_a_student : {"kappa", "width", "parametrization", "lambda"}) json.erase(of_a_student);
  }
  json["estimator"] = is_bayes ? "bayes" : "erm";
  for (const Deviation& quantity : deviations(point)) {
    put(json, quantity.quantity, quantity.trained);
    put(json, "predicted_" + quantity.quantity, quantity.theory);
    json["deviation"][quantity.quantity] = quantity.in_errors;
  }
  if (!is_bayes) {
    put(json, "stability", point.fixed_point.stability);
    json["stable"] = point.fixed_point.stable;
  }
  json["iterations"] = point.iterates.empty() ? 0 : point.iterates.back().iteration;
  json["runs"] = Json::array();
  for (const lab::AmpRun& run : point.runs) json["runs"].push_back(run_json(run));
  json["converged"] = is_answer(point.outcome);
  json["outcome"] = describe(point.outcome);
  json["precision"] = to_string(options.amp.precision);
  json["tolerance"] = options.solve.tolerance;
  json["iterate_tolerance"] = options.amp.tolerance;
  json["max_iterations"] = options.amp.max_iterations;
  json["test_samples"] = options.amp.test_samples;
  json["iterate_samples"] = options.amp.iterate_samples;
  json["log2_points"] = options.solve.qmc.log2_points;
  json["scramblings"] = options.solve.qmc.scramblings;
  json["seed"] = options.first_seed;
  json["seeds"] = options.seeds;
  json["version"] = version;
  return json;
}

Json run_json(const lab::AmpRun& run) {
  Json json{{"seed", run.seed}};
  put(json, "test_error", run.test_error);
  json["train_loss"] = run.train_loss;
  json["overlap"] = run.overlap;
  json["self_overlap"] = run.self_overlap.symmetric;
  json["squared_error"] = run.squared_error;
  json["antisymmetric_self_overlap"] = run.self_overlap.antisymmetric;
  json["susceptibility"] = run.susceptibility.symmetric;
  json["zero_fraction"] = run.zero_fraction;
  json["zero_below"] = zero_below;
  json["iterations"] = run.iterations.size();
  json["largest_damping"] = run.largest_damping;
  json["seconds"] = run.seconds;
  json["converged"] = is_answer(run.outcome);
  json["outcome"] = describe(run.outcome);
  return json;
}

Json value_json(const Problem& problem, const std::string& option) {
  if (option == "parametrization") return to_string(problem.parametrization);
  return option_value(problem, option);
}

}  // namespace
}  // namespace qklab::experiment
