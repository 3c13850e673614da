#include "message_passing_document.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/words/wording.hpp"

namespace qklab::cli {
namespace {

using experiment::ComparedIterate;
using experiment::Json;
using experiment::MessagePassing;

/// One quantity of an iterate, as measured and as predicted.
struct Quantity {
  const char* name;
  Estimate ComparedIterate::*measured;
  std::function<Estimate(const theory::Iterate&)> predicted;
};

Json panel(const experiment::Plan& plan, const std::vector<MessagePassing>& points, const Quantity& quantity,
           int end);
Json series_json(const MessagePassing& point, const Quantity& quantity, int end);
/// The iteration after which nothing is left to see.
int last_change(const std::vector<MessagePassing>& points);

}  // namespace

Json message_passing_figure(const experiment::Plan& plan, const std::vector<MessagePassing>& points) {
  const std::vector<Quantity> quantities = {
      {"test_error", &ComparedIterate::test_error, [](const theory::Iterate& it) { return it.test_error; }},
      {"overlap", &ComparedIterate::overlap,
       [](const theory::Iterate& it) {
         return Estimate{it.overlap, 0};
       }},
      {"self_overlap", &ComparedIterate::self_overlap,
       [](const theory::Iterate& it) {
         return Estimate{it.self_overlap, 0};
       }},
      {"susceptibility", &ComparedIterate::susceptibility,
       [](const theory::Iterate& it) {
         return Estimate{it.susceptibility, 0};
       }},
  };
  Json panels = Json::array();
  const int end = last_change(points);
  for (const Quantity& quantity : quantities) panels.push_back(panel(plan, points, quantity, end));
  return {{"kind", "learning_curve"},
          {"title", figure_title(plan)},
          {"x", {{"name", "iteration"}, {"label", "iteration $t$"}, {"whole", true}}},
          {"panels", panels},
          {"footer", "line: state evolution; points: message passing, error bars of one standard error"}};
}

namespace {

Json panel(const experiment::Plan& plan, const std::vector<MessagePassing>& points, const Quantity& quantity,
           int end) {
  Json json{{"quantity", quantity.name}, {"series", Json::array()}};
  for (const MessagePassing& point : points) {
    if (point.iterates.empty()) continue;
    Json series = series_json(point, quantity, end);
    series["label"] = axis_values(point.fixed_point.problem, plan.axes);
    json["series"].push_back(series);
  }
  return json;
}

Json series_json(const MessagePassing& point, const Quantity& quantity, int end) {
  constexpr int most_points = 30;
  const int apart = 1 + end / most_points;
  Json theory{{"x", Json::array()}, {"y", Json::array()}, {"se", Json::array()}};
  Json measured{{"x", Json::array()}, {"mean", Json::array()}, {"se", Json::array()}, {"by", "AMP"}};
  for (const ComparedIterate& iterate : point.iterates) {
    if (iterate.iteration > end) break;
    if (iterate.predicted) {
      const Estimate predicted = quantity.predicted(*iterate.predicted);
      theory["x"].push_back(iterate.iteration);
      theory["y"].push_back(predicted.value);
      theory["se"].push_back(predicted.se);
    }
    if (iterate.iteration % apart != 0) continue;
    const Estimate& value = iterate.*quantity.measured;
    measured["x"].push_back(iterate.iteration);
    measured["mean"].push_back(value.value);
    measured["se"].push_back(value.se);
  }
  measured["dimension"] = point.fixed_point.problem.dimension;
  measured["seeds"] = point.runs.size();
  Json series{{"measured", measured}};
  if (!theory["x"].empty()) series["theory"] = theory;
  return series;
}

int last_change(const std::vector<MessagePassing>& points) {
  constexpr double visible = 5e-3;
  constexpr int fewest = 10;
  int last = fewest;
  for (const MessagePassing& point : points) {
    if (point.iterates.empty()) continue;
    const double end = point.iterates.back().self_overlap.value;
    for (const ComparedIterate& iterate : point.iterates) {
      if (std::abs(iterate.self_overlap.value - end) > visible * std::abs(end)) {
        last = std::max(last, iterate.iteration + 2);
      }
    }
  }
  return last;
}

}  // namespace
}  // namespace qklab::cli
