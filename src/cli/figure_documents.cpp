#include "figure_documents.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "wording.hpp"

namespace qklab::cli {
namespace {

using experiment::Axis;
using experiment::Comparison;
using experiment::Deviation;
using experiment::Json;
using experiment::Plan;

const Axis& horizontal_axis(const Plan& plan);
/// The finished points, in groups along the first axis.
std::vector<std::vector<Comparison>> series_of(const Plan& plan, const std::vector<Comparison>& points);
Json panel(const Plan& plan, const std::vector<std::vector<Comparison>>& series, const std::string& quantity);
Json series_json(const std::vector<Comparison>& points, const std::string& option,
                 const std::string& quantity);
bool spans(const std::vector<double>& values, double factor);

constexpr const char* footer = "error bars and bands: one standard error";

}  // namespace

Json learning_curve(const Plan& plan, const std::vector<Comparison>& points) {
  const Axis& horizontal = horizontal_axis(plan);
  const auto series = series_of(plan, points);
  return {{"kind", "learning_curve"},
          {"title", figure_title(plan)},
          {"x",
           {{"name", horizontal.option},
            {"label", axis_label(horizontal.option)},
            {"log", spans(horizontal.values, 10)}}},
          {"panels", {panel(plan, series, "test_error"), panel(plan, series, "train_loss")}},
          {"footer", footer}};
}

Json spectra(const Plan& plan, const std::vector<Comparison>& points, int density_points) {
  Json panels = Json::array();
  for (const auto& [solution, runs, outcome] : points) {
    const experiment::DensityCurve density =
        experiment::eigenvalue_density(solution.spectrum, density_points);
    Json panel{{"title", axis_values(solution.problem, plan.axes)},
               {"x_label", "eigenvalue of $S$"},
               {"density", {{"x", density.x}, {"p", density.p}}},
               {"atom_at_zero", solution.zero_fraction.value}};
    panel["edges"] = Json::array();
    for (const Interval& edge : solution.edges) panel["edges"].push_back(Json::array({edge.lo, edge.hi}));
    if (!runs.empty()) {
      std::vector<double> eigenvalues;
      for (const lab::TrainedRun& run : runs) {
        eigenvalues.insert(eigenvalues.end(), run.eigenvalues.begin(), run.eigenvalues.end());
      }
      panel["histogram"] = {{"eigenvalues", eigenvalues},
                            {"zero_below", experiment::zero_below},
                            {"dimension", solution.problem.dimension},
                            {"seeds", runs.size()}};
    }
    panels.push_back(panel);
  }
  return {{"kind", "spectrum"}, {"title", figure_title(plan)}, {"panels", panels}};
}

namespace {

const Axis& horizontal_axis(const Plan& plan) {
  static const Axis alpha{"alpha", {}};
  return plan.axes.empty() ? alpha : plan.axes.front();
}

std::vector<std::vector<Comparison>> series_of(const Plan& plan, const std::vector<Comparison>& points) {
  const std::string& option = horizontal_axis(plan).option;
  std::vector<std::vector<Comparison>> series;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (plan.starts_a_series(i)) series.emplace_back();
    series.back().push_back(points[i]);
  }
  for (auto& one : series) {
    std::ranges::sort(one, {}, [&](const Comparison& point) {
      return experiment::option_value(point.theory.problem, option);
    });
  }
  return series;
}

const Deviation& of_quantity(const std::vector<Deviation>& deviations, const std::string& quantity) {
  return *std::ranges::find(deviations, quantity, &Deviation::quantity);
}

Json panel(const Plan& plan, const std::vector<std::vector<Comparison>>& series,
           const std::string& quantity) {
  const Axis& horizontal = horizontal_axis(plan);
  const std::vector<Axis> others(plan.axes.begin() + (plan.axes.empty() ? 0 : 1), plan.axes.end());
  Json json{{"quantity", quantity}, {"series", Json::array()}};
  std::vector<double> values;
  for (const std::vector<Comparison>& points : series) {
    Json one = series_json(points, horizontal.option, quantity);
    one["label"] = axis_values(points.front().theory.problem, others);
    json["series"].push_back(one);
    for (const Comparison& point : points) {
      values.push_back(of_quantity(deviations(point), quantity).theory.value);
    }
  }
  json["log"] = spans(values, 30);
  return json;
}

Json series_json(const std::vector<Comparison>& points, const std::string& option,
                 const std::string& quantity) {
  constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
  Json theory{{"x", Json::array()}, {"y", Json::array()}, {"se", Json::array()}, {"stable", Json::array()}};
  Json measured{{"x", Json::array()}, {"mean", Json::array()}, {"se", Json::array()}};
  for (const Comparison& point : points) {
    const std::vector<Deviation> all = deviations(point);
    const Deviation& values = of_quantity(all, quantity);
    const bool is_solved = is_answer(point.theory.outcome);
    const double x = experiment::option_value(point.theory.problem, option);
    theory["x"].push_back(x);
    theory["y"].push_back(is_solved ? values.theory.value : no_value);
    theory["se"].push_back(is_solved ? values.theory.se : no_value);
    theory["stable"].push_back(point.theory.stable);
    if (point.runs.empty()) continue;
    measured["x"].push_back(x);
    measured["mean"].push_back(values.trained.value);
    measured["se"].push_back(values.trained.se);
  }
  Json series{{"theory", theory}};
  const auto trained = std::ranges::find_if(points, [](const Comparison& p) { return !p.runs.empty(); });
  if (trained == points.end()) return series;
  if (option != "dimension") measured["dimension"] = trained->theory.problem.dimension;
  measured["seeds"] = trained->runs.size();
  series["measured"] = measured;
  return series;
}

bool spans(const std::vector<double>& values, double factor) {
  if (values.empty()) return false;
  const auto [least, most] = std::ranges::minmax(values);
  return least > 0 && most / least >= factor;
}

}  // namespace
}  // namespace qklab::cli
