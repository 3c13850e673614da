#include "phase_diagram.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/words/wording.hpp"
#include "qklab/experiment/comparison/theory_line.hpp"

namespace qklab::cli {
namespace {

using experiment::Json;
using experiment::ThresholdPoint;

using AlphaOf = std::function<std::optional<double>(const ThresholdPoint&)>;

void add_curve(Json& curves, const std::string& label, const std::vector<ThresholdPoint>& points, bool dashed,
               const AlphaOf& alpha_of) {
  Json curve{{"label", label}, {"x", Json::array()}, {"y", Json::array()}, {"dashed", dashed}};
  for (const ThresholdPoint& point : points) {
    const std::optional<double> alpha = alpha_of(point);
    if (!alpha) continue;
    curve["x"].push_back(*alpha);
    curve["y"].push_back(experiment::option_value(point.problem, "kappa0"));
  }
  if (!curve["x"].empty()) curves.push_back(curve);
}

std::vector<ThresholdPoint> ascending(std::vector<ThresholdPoint> points) {
  std::ranges::sort(points, {}, [](const ThresholdPoint& point) {
    return experiment::option_value(point.problem, "kappa0");
  });
  return points;
}

}  // namespace

Json phase_diagram(const experiment::Plan& plan, const std::vector<ThresholdPoint>& points,
                   const StopToken& stop) {
  constexpr int field_columns = 40;
  constexpr int line_points = 150;
  std::vector<ThresholdPoint> line;
  for (const Problem& problem : experiment::with_values_between(plan, line_points).points) {
    line.push_back(experiment::find_thresholds(problem));
  }
  line = ascending(std::move(line));
  Json curves = Json::array();
  add_curve(curves, "recovery", line, false, [](const auto& point) { return point.recovery.closed.alpha; });
  add_curve(curves, "interpolation", line, false,
            [](const auto& point) { return point.interpolation.closed.alpha; });
  add_curve(curves, "Bayes-optimal recovery", line, true,
            [](const auto& point) { return point.bayes_recovery.alpha; });
  Json document{{"kind", "phase_diagram"},
                {"title", figure_title(plan, {"alpha", "lambda"})},
                {"x", {{"label", axis_label("alpha")}, {"log", false}}},
                {"y", {{"label", axis_label("kappa0")}}},
                {"curves", curves}};
  if (const auto field = experiment::error_field(ascending(points), field_columns, stop)) {
    document["field"] = {{"x", field->alpha},
                         {"y", field->kappa0},
                         {"value", field->value},
                         {"label", R"(test error, $\lambda \to 0$)"},
                         {"log", true}};
    // The field is blank there; above the lowest quarter the curve leaves room to its right.
    const double low = field->kappa0.front() + 0.2 * (field->kappa0.back() - field->kappa0.front());
    document["regions"] = {{{"label", "recovered"}, {"x", 0.85 * field->alpha.back()}, {"y", low}}};
  }
  return document;
}

}  // namespace qklab::cli
