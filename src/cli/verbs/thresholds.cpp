#include "qklab/experiment/generalization/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/figure.hpp"
#include "cli/figures/phase_diagram.hpp"
#include "cli/presentation/point_printer.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {
namespace {

using experiment::CheckedThreshold;
using experiment::ThresholdPoint;

/// The points of the plan at an alpha and a weight decay that play no part.
experiment::Plan plan_without_alpha(const experiment::Description& options) {
  options.refuse("alpha", "has no effect: it is what the thresholds are");
  options.refuse("samples", "has no effect: thresholds are ratios alpha");
  options.refuse("lambda", "has no effect: thresholds are those of vanishing weight decay");
  experiment::Description with_alpha = options;
  with_alpha.set("alpha", "1");
  return experiment::plan(with_alpha);
}

/// A phase diagram has kappa0 for its ordinate.
std::optional<Figure> phase_diagram_of(const Session& session, const experiment::Plan& plan) {
  if (!session.options.given("plot")) return std::nullopt;
  if (plan.axes.size() != 1 || plan.axes.front().option != "kappa0") {
    throw InvalidParameter("plot", session.options.text("plot"),
                           "a phase diagram needs several values of kappa0, and one of every other option");
  }
  return Figure(session.options.text("plot"));
}

std::string cell(const theory::Threshold& threshold) {
  return threshold.alpha ? number(*threshold.alpha) : "-";
}

std::string cell(const CheckedThreshold& threshold) {
  return threshold.followed ? number(threshold.followed->alpha) : "-";
}

std::vector<Column> columns(bool check) {
  if (!check) return {{"recovery"}, {"Bayes"}, {"interpolation", 14}, {"counting"}};
  return {{"recovery:\nclosed"},
          {"\nfollowed", 10},
          {"interpolation:\nclosed", 15},
          {"\nfollowed", 10},
          {"Bayes", 10}};
}

std::vector<std::string> cells(const ThresholdPoint& point) {
  if (!point.is_checked) {
    return {cell(point.recovery.closed), cell(point.bayes_recovery), cell(point.interpolation.closed),
            number(point.counting)};
  }
  return {cell(point.recovery.closed), cell(point.recovery), cell(point.interpolation.closed),
          cell(point.interpolation), cell(point.bayes_recovery)};
}

std::string threshold_list(const ThresholdPoint& point) {
  ListText list;
  const auto say = [&list](std::string_view name, const theory::Threshold& threshold,
                           std::string_view meaning) {
    list.add(name, cell(threshold), threshold.alpha ? meaning : "");
    if (!threshold.alpha) list.add_line("    " + threshold.reason);
  };
  const auto say_followed = [&](const CheckedThreshold& threshold) {
    if (!point.is_checked || !threshold.closed.alpha) return;
    list.add("  followed", cell(threshold), "by the state evolution");
  };
  say("recovery", point.recovery.closed, "alpha from which the target is recovered");
  say_followed(point.recovery);
  say("interpolation", point.interpolation.closed, "alpha up to which noisy labels are fitted");
  say_followed(point.interpolation);
  say("Bayes recovery", point.bayes_recovery, "alpha from which the data fix the target");
  list.add("counting", number(point.counting), "as many scores as the student has entries");
  return list.text();
}

Status find_points(Session& session) {
  const experiment::Plan plan = plan_without_alpha(session.options);
  session.announce(plan.points.front().teacher);
  const bool check = session.options.on("check");
  const std::uint64_t seed = experiment::seed(session.options);
  const std::optional<Figure> figure = phase_diagram_of(session, plan);

  PointPrinter printer(session, plan, columns(check), "alpha = n/d^2 at vanishing weight decay",
                       {"alpha", "lambda"});
  const ProgressCallback progress = session.bar.whole();
  std::vector<ThresholdPoint> finished;
  for (const Problem& problem : plan.points) {
    if (session.stop.requested()) break;
    progress({"points", static_cast<double>(finished.size()), static_cast<double>(plan.points.size())});
    finished.push_back(check ? experiment::find_and_follow_thresholds(problem, seed)
                             : experiment::find_thresholds(problem));
    const ThresholdPoint& point = finished.back();
    printer.print(problem, {[&] { return experiment::to_json(point, seed); },
                            [&] { return threshold_list(point); }, [&] { return cells(point); }, ""});
  }
  if (figure && !session.stop.requested()) figure->draw(phase_diagram(plan, finished, session.stop));
  session.bar.clear();
  return Status::done;
}

}  // namespace

Verb thresholds_verb() {
  Verb::Group search{"Thresholds",
                     {{"check", "", "follow the state evolution to the thresholds as well", ""}}};
  return {"thresholds",
          "sample ratios of interpolation and of perfect recovery",
          {problem_group(), search, output_group(true)},
          find_points};
}

}  // namespace qklab::cli
