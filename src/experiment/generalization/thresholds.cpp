#include "qklab/experiment/generalization/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "qklab/core/error.hpp"
#include "qklab/theory/thresholds/ridgeless.hpp"

namespace qklab::experiment {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

void put(Json& json, const std::string& name, const theory::Threshold& threshold) {
  json[name + "_alpha"] = threshold.alpha ? Json(*threshold.alpha) : Json();
  if (!threshold.alpha) json[name + "_reason"] = threshold.reason;
}

void put(Json& json, const std::string& name, const CheckedThreshold& threshold, bool is_checked) {
  put(json, name, threshold.closed);
  if (!is_checked) return;
  json[name + "_alpha_continuation"] = threshold.followed ? Json(threshold.followed->alpha) : Json();
  json[name + "_agreement"] = threshold.disagreement();
}

/// Equal steps to a little above the largest threshold.
std::vector<double> columns_up_to_recovery(const std::vector<ThresholdPoint>& points, int columns) {
  double most = 0;
  for (const ThresholdPoint& point : points) most = std::max(most, point.recovery.closed.alpha.value_or(0));
  std::vector<double> alpha;
  for (int i = 1; i <= columns; ++i) alpha.push_back(1.1 * most * i / columns);
  return alpha;
}

double test_error(Problem problem, double alpha) {
  problem.alpha = alpha;
  const QmcOptions coarse{.log2_points = 11, .scramblings = 2};
  try {
    const double error = theory::ridgeless_student(problem, coarse).test_error.value;
    return error > 0 ? error : unknown;
  } catch (const Error&) {  // none may leave a parallel loop; the cell stays blank
    return unknown;
  }
}

}  // namespace

double CheckedThreshold::disagreement() const {
  return closed.alpha && followed ? std::abs(followed->alpha / *closed.alpha - 1) : unknown;
}

ThresholdPoint find_thresholds(const Problem& problem) {
  const theory::Thresholds closed = theory::thresholds(problem);
  return {problem, {closed.interpolation, {}}, {closed.recovery, {}}, closed.bayes_recovery, closed.counting,
          false};
}

ThresholdPoint find_and_follow_thresholds(const Problem& problem, std::uint64_t seed) {
  ThresholdPoint point = find_thresholds(problem);
  point.is_checked = true;
  theory::ThresholdOptions options;
  options.qmc.seed = seed;
  point.interpolation.followed = theory::follow_to_interpolation(problem, options);
  point.recovery.followed = theory::follow_to_recovery(problem, options);
  return point;
}

Json to_json(const ThresholdPoint& point, std::uint64_t seed) {
  Json json = to_json(point.problem);
  for (const char* sought : {"alpha", "lambda"}) json.erase(sought);
  put(json, "interpolation", point.interpolation, point.is_checked);
  put(json, "recovery", point.recovery, point.is_checked);
  put(json, "bayes_recovery", point.bayes_recovery);
  json["counting_alpha"] = point.counting;
  json["seed"] = seed;
  json["version"] = version;
  return json;
}

std::optional<ErrorField> error_field(const std::vector<ThresholdPoint>& points, int columns,
                                      const StopToken& stop) {
  const bool is_known = std::ranges::all_of(points, [](const ThresholdPoint& point) {
    return point.problem.parametrization == Parametrization::tied && point.recovery.closed.alpha;
  });
  if (!is_known) return std::nullopt;
  ErrorField field;
  field.alpha = columns_up_to_recovery(points, columns);
  for (const ThresholdPoint& point : points) {
    field.kappa0.push_back(option_value(point.problem, "kappa0"));
    field.value.emplace_back(field.alpha.size(), unknown);
  }
  const auto cells = static_cast<long>(points.size() * field.alpha.size());
#pragma omp parallel for schedule(dynamic)
  for (long cell = 0; cell < cells; ++cell) {
    const std::size_t row = static_cast<std::size_t>(cell) / field.alpha.size();
    const std::size_t column = static_cast<std::size_t>(cell) % field.alpha.size();
    if (!stop.requested()) field.value[row][column] = test_error(points[row].problem, field.alpha[column]);
  }
  return stop.requested() ? std::nullopt : std::optional(std::move(field));
}

}  // namespace qklab::experiment
