#include "truncation_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/dynamics_document.hpp"
#include "cli/figures/figure.hpp"
#include "qklab/cli/words/table.hpp"
#include "qklab/core/error.hpp"

namespace qklab::cli {
namespace {

using experiment::DynamicsCase;
using experiment::DynamicsPlan;
using experiment::DynamicsPoint;
using experiment::Json;
using experiment::Method;
using experiment::MethodRun;

/// The largest deviation from the exact flow over the times asked for.
struct TruncationError {
  Method method = Method::truncated;
  int order = 0;
  double overlap = 0;
  double self_overlap = 0;
  double trusted_until = 0;
};

MethodRun run_of(const DynamicsPlan& plan, const DynamicsCase::Step& step);
double largest_deviation(const MethodRun& run, const MethodRun& exact, Estimate DynamicsPoint::*quantity);
Json error_json(const TruncationError& error, const DynamicsPlan& plan);
Json errors_figure(const DynamicsPlan& plan, const std::vector<TruncationError>& errors);
void require_truncations(const DynamicsPlan& plan);

}  // namespace

Status measure_truncation_error(Session& session, const DynamicsPlan& plan) {
  require_truncations(plan);
  const std::optional<Figure> figure = figure_of(session);
  const bool json = session.options.on("json");
  const Table table({{"method", 9}, {"M", 3}, {"overlap", 11}, {"self-overlap", 12}, {"trusted to", 10}}, 5);
  if (!json) {
    session.print(fmt::format("{}\nlargest deviation from the exact flow up to tau = {:g}\n\n{}",
                              dynamics_title(plan, false), plan.options.times.back(), table.heading()));
  }
  const MethodRun exact = run_of(plan, {Method::exact, 0});
  std::vector<TruncationError> errors;
  for (const DynamicsCase::Step& step : plan.cases.front().steps) {
    if (session.stop.requested()) break;
    const MethodRun run = run_of(plan, step);
    const TruncationError error{
        step.method, step.order, largest_deviation(run, exact, &DynamicsPoint::overlap),
        largest_deviation(run, exact, &DynamicsPoint::self_overlap), run.trusted_until};
    session.print(
        json ? error_json(error, plan).dump()
             : table.row({to_string(error.method), std::to_string(error.order),
                          fmt::format("{:.2g}", error.overlap), fmt::format("{:.2g}", error.self_overlap),
                          std::isfinite(error.trusted_until) ? fmt::format("{:.3g}", error.trusted_until)
                                                             : "the end"}));
    errors.push_back(error);
  }
  session.bar.clear();
  if (figure && !errors.empty()) figure->draw(errors_figure(plan, errors));
  return Status::done;
}

namespace {

MethodRun run_of(const DynamicsPlan& plan, const DynamicsCase::Step& step) {
  experiment::DynamicsOptions options = plan.options;
  options.order = std::max(1, step.order);
  MethodRun result;
  follow(plan.cases.front().problem, {step.method}, options, [&](const MethodRun& run) { result = run; });
  return result;
}

/// Infinite where a truncation did not reach the end.
double largest_deviation(const MethodRun& run, const MethodRun& exact, Estimate DynamicsPoint::*quantity) {
  if (run.points.size() < exact.points.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < exact.points.size(); ++i) {
    const double deviation = std::abs((run.points[i].*quantity).value - (exact.points[i].*quantity).value);
    if (!(deviation <= largest)) largest = deviation;
  }
  return largest;
}

Json error_json(const TruncationError& error, const DynamicsPlan& plan) {
  return {{"method", to_string(error.method)},
          {"order", error.order},
          {"overlap_error", error.overlap},
          {"self_overlap_error", error.self_overlap},
          {"trusted_until", std::isfinite(error.trusted_until) ? Json(error.trusted_until) : Json()},
          {"time", plan.options.times.back()},
          {"start", plan.options.start},
          {"dimension", plan.cases.front().problem.dimension},
          {"version", experiment::version}};
}

/// One series for each method; what diverged is left out.
Json errors_figure(const DynamicsPlan& plan, const std::vector<TruncationError>& errors) {
  const auto panel = [&](const char* label, double TruncationError::*value) {
    Json series = Json::array();
    for (const Method method : {Method::truncated, Method::words}) {
      Json line{{"x", Json::array()},
                {"mean", Json::array()},
                {"by", method == Method::words ? "words of $M$ letters" : "teacher of $M$ nodes"}};
      for (const TruncationError& error : errors) {
        if (error.method != method || !(error.*value > 0) || !(error.*value < 10)) continue;
        line["x"].push_back(error.order);
        line["mean"].push_back(error.*value);
      }
      if (!line["x"].empty()) series.push_back({{"label", ""}, {"measured", line}});
    }
    return Json{{"label", label}, {"log", true}, {"series", series}};
  };
  return {
      {"kind", "learning_curve"},
      {"title", dynamics_title(plan, true)},
      {"x", {{"name", "order"}, {"label", "order $M$"}, {"whole", true}}},
      {"panels",
       {panel("largest error of the overlap $m$", &TruncationError::overlap),
        panel("largest error of the self-overlap $q$", &TruncationError::self_overlap)}},
      {"footer", fmt::format(R"(against the exact flow, up to $\tau = {:g}$)", plan.options.times.back())}};
}

void require_truncations(const DynamicsPlan& plan) {
  if (plan.cases.size() != 1) {
    throw InvalidParameter("truncation_error", std::to_string(plan.cases.size()) + " students",
                           "is measured for one student");
  }
  for (const DynamicsCase::Step& step : plan.cases.front().steps) {
    if (step.order == 0) {
      throw InvalidParameter("method", to_string(step.method), "is no truncation, whose error has an order");
    }
  }
}

}  // namespace
}  // namespace qklab::cli
