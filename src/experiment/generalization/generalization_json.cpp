#include "qklab/experiment/generalization/generalization_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiment/document/json_parts.hpp"
#include "qklab/experiment/comparison/spectral_parts.hpp"

namespace qklab::experiment {
namespace {

Json modes_json(const Comparison& point, const std::vector<theory::ModeContribution>& modes, int most) {
  Json list = Json::array();
  for (const auto& [mode, contribution] : modes) {
    if (std::ssize(list) == most) break;
    list.push_back({{"teacher", mode.teacher},
                    {"multiplicity", mode.multiplicity},
                    {"location", mode.location},
                    {"alignment", mode.alignment},
                    {"learned", mode.learned},
                    {"recovered", mode.recovered},
                    {"contribution", contribution}});
  }
  if (point.runs.empty()) return list;
  std::size_t place = 0;
  for (const ModeComparison& mode : compare_modes(point, most)) {
    while (place < list.size() && list[place]["teacher"] != mode.predicted.teacher) ++place;
    if (place == list.size()) break;
    list[place]["train"] = {{"location", estimate_json(mode.location)},
                            {"alignment", estimate_json(mode.alignment)},
                            {"learned", estimate_json(mode.learned)}};
  }
  return list;
}

/// Parts first, then the quantities that every comparison has.
void put_trained(Json& json, std::vector<Deviation> quantities, const Comparison& point) {
  for (const Deviation& quantity : deviations(point)) {
    if (quantity.quantity != "test_error") quantities.push_back(quantity);
  }
  for (const Deviation& quantity : quantities) {
    json["train"][quantity.quantity] = estimate_json(quantity.trained);
    json["deviation"][quantity.quantity] = quantity.in_errors;
  }
  json["train"]["seeds"] = point.runs.size();
  json["train"]["dimension"] = point.theory.problem.dimension;
}

Json point_json(const theory::ScalingPoint& point) {
  const theory::Solution& solution = point.solution;
  Json json{
      {"samples", point.samples}, {"alpha", solution.problem.alpha}, {"lambda", solution.problem.lambda}};
  put(json, "test_error", solution.test_error);
  put(json, "excess", point.excess);
  put(json, "local_exponent", point.local_exponent);
  json["recovered"] = point.recovered;
  json["regime"] = to_string(point.regime);
  json["zero_fraction"] = solution.zero_fraction.value;
  put(json, "stability", solution.stability);
  json["stable"] = solution.stable;
  json["residual"] = solution.residual;
  return json;
}

Json trained_json(const Comparison& point) {
  for (const Deviation& quantity : deviations(point)) {
    if (quantity.quantity != "test_error") continue;
    return {{"samples", sample_count(point.theory.problem)},
            {"test_error", {{"mean", quantity.trained.value}, {"se", quantity.trained.se}}},
            {"deviation", quantity.in_errors},
            {"seeds", point.runs.size()},
            {"converged", is_answer(point.outcome)}};
  }
  return {};
}

}  // namespace

Json decomposition_json(const Comparison& point, const std::optional<theory::Decomposition>& split,
                        const CompareOptions& options, int most_modes) {
  Json json = to_json(point.theory, options.solve);
  json["converged"] = is_answer(point.outcome);
  json["outcome"] = describe(point.outcome);
  if (!split) return json;
  json["overfitting"] = split->parts.overfitting;
  json["underfitting"] = split->parts.underfitting;
  json["approximation"] = split->parts.approximation;
  json["cross"] = split->parts.cross;
  put(json, "mismatch", split->mismatch);
  put(json, "remainder", split->remainder);
  put(json, "saturation_error", split->saturation_error);
  put(json, "scale", split->scale);
  put(json, "gradient_self_overlap", split->gradient_self_overlap);
  put(json, "gradient_scale", split->gradient_scale);
  json["recovered"] = split->recovered;
  json["modes"] = modes_json(point, split->modes, most_modes);
  if (!point.runs.empty()) put_trained(json, part_deviations(point, *split), point);
  return json;
}

Json weight_decay_json(const theory::BestWeightDecay& best, const theory::Solution& given,
                       const theory::SolveOptions& options) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const bool is_solved = is_answer(given.outcome);
  Json json = to_json(best.best, options);
  put(json, "lambda", best.lambda);
  json["vanishes"] = best.vanishes;
  json["lambda_given"] = given.problem.lambda;
  put(json, "test_error_given", is_solved ? given.test_error : Estimate{unknown, unknown});
  json["gain"] = is_solved ? 1 - best.best.test_error.value / given.test_error.value : unknown;
  json["flat_low"] = best.flat_low;
  json["flat_high"] = best.flat_high;
  json["curve"] = Json::array();
  for (const theory::Solution& point : best.curve) {
    if (!is_answer(point.outcome)) continue;
    Json one{{"lambda", point.problem.lambda}};
    put(one, "test_error", point.test_error);
    put(one, "train_loss", point.train_loss);
    one["zero_fraction"] = point.zero_fraction.value;
    one["stable"] = point.stable;
    json["curve"].push_back(one);
  }
  json["converged"] = is_answer(best.outcome);
  json["outcome"] = describe(best.outcome);
  return json;
}

Json scaling_json(const ScalingStudy& study, const theory::SolveOptions& options) {
  const theory::ScalingLaw& law = study.law;
  Json json;
  if (!law.points.empty()) {
    json = to_json(law.points.front().solution.problem);
    for (const char* of_a_point : {"alpha", "samples", "lambda"}) json.erase(of_a_point);
    const auto* power = std::get_if<PowerLawTeacher>(&law.points.front().solution.problem.teacher);
    json["predicted_exponent"] = power ? Json(theory::predicted_exponent(power->gamma)) : Json();
  }
  put(json, "exponent", law.exponent);
  json["fitted_from"] = law.fitted_from;
  json["fitted_to"] = law.fitted_to;
  put(json, "saturation_error", law.saturation_error);
  json["points"] = Json::array();
  for (const theory::ScalingPoint& point : law.points) json["points"].push_back(point_json(point));
  json["modes"] = Json::array();
  for (const theory::ModeEntry& mode : law.modes) {
    json["modes"].push_back({{"mode", mode.mode}, {"enters", mode.enters}, {"remaining", mode.remaining}});
  }
  if (!study.trained.empty()) {
    json["train"] = Json::array();
    for (const Comparison& point : study.trained) json["train"].push_back(trained_json(point));
  }
  json["unconverged"] = law.unconverged;
  json["converged"] = law.unconverged == 0 && is_answer(law.outcome);
  json["outcome"] = describe(law.outcome);
  json["tolerance"] = options.tolerance;
  put_sampling(json, options.qmc);
  json["version"] = version;
  return json;
}

}  // namespace qklab::experiment
