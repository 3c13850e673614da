#include "figure_documents.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "cli/words/wording.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/description/grid.hpp"

namespace qklab::cli {
namespace {

using experiment::Axis;
using experiment::Comparison;
using experiment::Deviation;
using experiment::Json;
using experiment::Plan;

const Axis& horizontal_axis(const Plan& plan);
Json horizontal_json(const Plan& plan);
/// Points begin..end - 1 of the plan, one series; exact recovery has no place on a logarithmic axis.
Json bayes_line(const Plan& plan, std::size_t begin, std::size_t end, const theory::SolveOptions& options);
/// The finished points, in groups along the first axis.
std::vector<std::vector<Comparison>> series_of(const Plan& plan, const std::vector<Comparison>& points);
Json panel(const Plan& plan, const std::vector<std::vector<Comparison>>& series, const std::string& quantity);
Json series_json(const std::vector<Comparison>& points, const std::string& option,
                 const std::string& quantity);
bool spans(const std::vector<double>& values, double factor);

}  // namespace

Json learning_curve(const Plan& plan, const std::vector<Comparison>& points, const Json& references,
                    const std::vector<std::string>& quantities) {
  const auto series = series_of(plan, points);
  Json panels = Json::array();
  for (const std::string& quantity : quantities) {
    panels.push_back(panel(plan, series, quantity));
    if (quantity == "test_error" && !references.empty()) panels.back()["references"] = references;
  }
  return {{"kind", "learning_curve"},
          {"title", figure_title(plan)},
          {"x", horizontal_json(plan)},
          {"panels", panels},
          {"footer", footer_of_errors}};
}

experiment::Option quantity_option() {
  return {"quantity", "NAMES", "what the figure shows: test_error, train_loss, overlap, rank, ...",
          "test_error,train_loss"};
}

std::vector<std::string> quantities_to_show(const experiment::Description& options) {
  const std::string allowed =
      "test_error, train_loss, regularization, overlap, self_overlap, zero_fraction, rank";
  std::vector<std::string> names = experiment::parse_names(options.text("quantity"));
  for (const std::string& name : names) {
    if (name.empty() || (", " + allowed + ",").find(", " + name + ",") == std::string::npos) {
      throw InvalidParameter("quantity", name, "must be a list of " + allowed);
    }
  }
  return names;
}

Json bayes_references(const Plan& plan, const theory::SolveOptions& options) {
  Json references = Json::array();
  for (std::size_t begin = 0; begin < plan.points.size();) {
    std::size_t end = begin + 1;
    while (end < plan.points.size() && !plan.starts_a_series(end)) ++end;
    Json line = bayes_line(plan, begin, end, options);
    const auto same = [&](const Json& other) { return other["y"] == line["y"] && other["x"] == line["x"]; };
    if (std::ranges::none_of(references, same)) references.push_back(line);
    begin = end;
  }
  return references;
}

Json bayes_curve(const Plan& plan, const theory::SolveOptions& options) {
  Json series = Json::array();
  std::vector<double> values;
  for (const Json& line : bayes_references(plan, options)) {
    for (const Json& y : line["y"]) {
      if (!y.is_null()) values.push_back(y);
    }
    series.push_back({{"label", line["label"]}, {"theory", {{"x", line["x"]}, {"y", line["y"]}}}});
  }
  return {{"kind", "learning_curve"},   {"title", figure_title(plan, options_of_a_student())},
          {"x", horizontal_json(plan)}, {"quantity", "test_error"},
          {"log", spans(values, 30)},   {"series", series}};
}

namespace {

const Axis& horizontal_axis(const Plan& plan) {
  static const Axis alpha{"alpha", {}};
  return plan.axes.empty() ? alpha : plan.axes.front();
}

Json horizontal_json(const Plan& plan) {
  const Axis& horizontal = horizontal_axis(plan);
  return {{"name", horizontal.option},
          {"label", axis_label(horizontal.option)},
          {"log", spans(horizontal.values, 10)}};
}

Json bayes_line(const Plan& plan, std::size_t begin, std::size_t end, const theory::SolveOptions& options) {
  const std::string& option = horizontal_axis(plan).option;
  std::vector<Problem> points(plan.points.begin() + static_cast<std::ptrdiff_t>(begin),
                              plan.points.begin() + static_cast<std::ptrdiff_t>(end));
  std::ranges::sort(points, {},
                    [&](const Problem& point) { return experiment::option_value(point, option); });
  std::vector<Axis> others;
  for (const Axis& axis : plan.axes) {
    const bool is_of_a_student =
        axis.option == "dimension" || std::ranges::count(options_of_a_student(), axis.option) > 0;
    if (axis.option != option && !is_of_a_student) others.push_back(axis);
  }
  const std::string values = axis_values(points.front(), others);
  Json line{{"label", values.empty() ? "Bayes-optimal" : "Bayes-optimal, " + values},
            {"x", Json::array()},
            {"y", Json::array()}};
  theory::BayesSolver solver(options);
  for (const Problem& point : points) {
    const theory::BayesSolution solution = solver.solve(point);
    const bool has_a_place = is_answer(solution.outcome) && solution.test_error.value > 0;
    line["x"].push_back(experiment::option_value(point, option));
    line["y"].push_back(has_a_place ? Json(solution.test_error.value) : Json());
  }
  return line;
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

/// A quantity of deviations(), or the rank: the fraction of eigenvalues that are not zero.
Deviation of_quantity(const std::vector<Deviation>& deviations, const std::string& quantity) {
  if (quantity != "rank") return *std::ranges::find(deviations, quantity, &Deviation::quantity);
  Deviation rank = of_quantity(deviations, "zero_fraction");
  rank.theory.value = 1 - rank.theory.value;
  rank.trained.value = 1 - rank.trained.value;
  return rank;
}

Json panel(const Plan& plan, const std::vector<std::vector<Comparison>>& series,
           const std::string& quantity) {
  const Axis& horizontal = horizontal_axis(plan);
  const std::vector<Axis> others = plan.further_axes();
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
    const Deviation values = of_quantity(all, quantity);
    const bool is_solved = is_answer(point.theory.outcome);
    const double x = experiment::option_value(point.theory.problem, option);
    theory["x"].push_back(x);
    theory["y"].push_back(is_solved ? values.theory.value : no_value);
    theory["se"].push_back(is_solved ? values.theory.se : no_value);
    // Where the stability is not known nothing speaks against the line.
    theory["stable"].push_back(point.theory.stable || std::isnan(point.theory.stability.value));
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
