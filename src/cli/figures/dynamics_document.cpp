#include "dynamics_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "qklab/cli/words/table.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/description/grid.hpp"

namespace qklab::cli {
namespace {

using experiment::DynamicsPlan;
using experiment::DynamicsPoint;
using experiment::DynamicsProblem;
using experiment::Json;
using experiment::Method;
using experiment::MethodRun;

struct Quantity {
  const char* name;
  const char* label;
  Estimate DynamicsPoint::*value;
};

constexpr Quantity quantities_of_learning[] = {
    {"alignment", R"(alignment $m/\sqrt{q Q_0}$)", &DynamicsPoint::alignment},
    {"centred_alignment", "centred alignment", &DynamicsPoint::centred_alignment},
    {"overlap", "overlap $m$", &DynamicsPoint::overlap},
    {"self_overlap", "self-overlap $q$", &DynamicsPoint::self_overlap},
    {"trace", R"($\mathrm{Tr}\,S/d$)", &DynamicsPoint::trace},
    {"score_mean", R"(mean score $\mu = \mathrm{Tr}\,S/\sqrt{d}$)", &DynamicsPoint::score_mean},
    {"loss", R"(population loss $\Phi$)", &DynamicsPoint::loss},
};

const Quantity& quantity_of(const std::string& name);
/// Whether it moves on the clock of untied weights' fast phase.
bool is_fast(const Quantity& quantity);
Json panel(const DynamicsPlan& plan, const std::vector<FollowedCase>& cases, const Quantity& quantity,
           const std::string& model);
Json series_json(const MethodRun& run, const DynamicsProblem& problem, const Quantity& quantity);
Json escape_series(const experiment::WeakRecoveryStudy& study, int seeds);
/// The fitted power law through the dimensions of a study; null without one.
Json fitted_line(const experiment::WeakRecoveryStudy& study, const std::string& student);
std::string model_of(const FollowedCase& one);

}  // namespace

Json dynamics_figure(const DynamicsPlan& plan, const std::vector<FollowedCase>& cases,
                     const std::vector<std::string>& quantities) {
  std::vector<std::string> models;
  for (const FollowedCase& one : cases) {
    if (std::ranges::count(models, model_of(one)) == 0) models.push_back(model_of(one));
  }
  Json panels = Json::array();
  for (const std::string& name : quantities) {
    for (const std::string& model : models) panels.push_back(panel(plan, cases, quantity_of(name), model));
  }
  return {{"kind", "learning_curve"},
          {"title", dynamics_title(plan, true)},
          {"x", {{"name", "time"}, {"label", R"(time $\tau = \eta \cdot \mathrm{steps}/d$)"}}},
          {"panels", panels},
          {"footer", "points: mean over seeds, error bars of one standard error"}};
}

Json weak_recovery_figure(const DynamicsPlan& plan, const experiment::WeakRecoveryOptions& options,
                          const std::vector<experiment::WeakRecoveryStudy>& studies) {
  Json series = Json::array();
  Json fits = Json::array();
  for (std::size_t i = 0; i < studies.size(); ++i) {
    const std::string student = case_words(plan, plan.cases[i].problem, true);
    Json one = escape_series(studies[i], options.seeds);
    if (one["measured"]["x"].empty()) continue;
    one["label"] = student;
    series.push_back(one);
    if (Json fit = fitted_line(studies[i], student); !fit.is_null()) fits.push_back(fit);
  }
  const std::string noise = options.rule == experiment::StepRule::constant
                                ? fmt::format(R"($\eta d/B = {:g}$)", options.step_noise)
                                : fmt::format(R"($\eta d/B = {:g}/\log d$)", options.step_noise);
  return {{"kind", "learning_curve"},
          {"title", dynamics_title(plan, true) + ", " + noise},
          {"x", {{"name", "dimension"}, {"label", "dimension $d$"}, {"log", true}}},
          {"quantity", "samples"},
          {"label", fmt::format("$n/d^2$ until the alignment is {:g}", options.threshold)},
          {"log", true},
          {"series", series},
          {"references", fits},
          {"footer", "error bars: one standard error over seeds"}};
}

experiment::Option dynamics_quantity_option() {
  return {
      "quantity", "NAMES",
      "what the figure shows: alignment, centred_alignment, overlap, self_overlap, trace, score_mean, loss",
      "overlap,self_overlap,alignment,loss"};
}

std::vector<std::string> dynamics_quantities(const experiment::Description& options) {
  std::vector<std::string> names = experiment::parse_names(options.text("quantity"));
  for (const std::string& name : names) quantity_of(name);
  return names;
}

std::string dynamics_title(const DynamicsPlan& plan, bool mathematical) {
  const DynamicsProblem& problem = plan.cases.front().problem;
  std::string text;
  const auto say = [&text](const std::string& words) { text.append(text.empty() ? "" : ", ").append(words); };
  const auto value = [&](const char* symbol, const char* plain, double number) {
    say(mathematical ? fmt::format("${} = {:g}$", symbol, number) : fmt::format("{} = {:g}", plain, number));
  };
  if (plan.models == 1) {
    say(to_string(problem.model.architecture));
    value("T", "T", problem.model.tokens);
    if (problem.model.beta != 1) value(R"(\beta)", "beta", problem.model.beta);
  }
  if (plan.parametrizations == 1) say(to_string(problem.parametrization) + " student");
  if (const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher)) {
    value(R"(\kappa_0)", "kappa0", wishart->kappa0);
  } else if (const auto* power = std::get_if<PowerLawTeacher>(&problem.teacher)) {
    value(R"(\gamma)", "gamma", power->gamma);
  }
  if (problem.traceless) say("traceless teacher");
  if (problem.kappa != 1) value(R"(\kappa)", "kappa", problem.kappa);
  if (problem.parametrization == Parametrization::untied && plan.parametrizations == 1) {
    value(R"(\mathrm{Tr}\,UU^T/d|_0)", "Tr U U^T/d at the start", plan.options.start);
  } else {
    value(R"(\mathrm{Tr}\,S/d|_0)", "Tr S/d at the start", plan.options.start);
  }
  if (plan.options.weight_decay != 0) value("g", "weight decay", plan.options.weight_decay);
  return text;
}

std::string case_words(const DynamicsPlan& plan, const DynamicsProblem& problem, bool mathematical) {
  std::string text;
  const auto say = [&text](const std::string& words) { text.append(text.empty() ? "" : ", ").append(words); };
  if (plan.models > 1) say(to_string(problem.model.architecture));
  if (plan.parametrizations > 1) say(to_string(problem.parametrization));
  if (plan.dimensions > 1)
    say(fmt::format(fmt::runtime(mathematical ? "$d = {}$" : "d = {}"), problem.dimension));
  return text;
}

std::string method_words(const MethodRun& run, bool mathematical) {
  if (run.method == Method::truncated || run.method == Method::words) {
    return fmt::format(fmt::runtime(mathematical ? "{}, $M = {}$" : "{}, M = {}"), to_string(run.method),
                       run.order);
  }
  if (run.method == Method::sgd && mathematical) return "SGD";
  if (run.method == Method::fast) return "fast phase";
  if (run.method == Method::untied) return "slow phase";
  return to_string(run.method);
}

namespace {

const Quantity& quantity_of(const std::string& name) {
  const auto* found = std::ranges::find_if(quantities_of_learning,
                                           [&](const Quantity& quantity) { return name == quantity.name; });
  if (found == std::end(quantities_of_learning)) {
    throw InvalidParameter(
        "quantity", name,
        "must be a list of alignment, centred_alignment, overlap, self_overlap, trace, score_mean, loss");
  }
  return *found;
}

bool is_fast(const Quantity& quantity) {
  return quantity.value == &DynamicsPoint::score_mean;
}

std::string model_of(const FollowedCase& one) {
  return to_string(one.what.problem.model.architecture);
}

/// Methods are told apart where a student has several theories, students where there are several.
Json panel(const DynamicsPlan& plan, const std::vector<FollowedCase>& cases, const Quantity& quantity,
           const std::string& model) {
  Json json{{"quantity", quantity.name}, {"series", Json::array()}};
  json["label"] = plan.models > 1 ? model + ": " + quantity.label : std::string(quantity.label);
  if (is_fast(quantity)) {
    json["x"] = {
        {"name", "steps"}, {"label", R"(fast time $t = \eta \cdot \mathrm{steps} = \tau d$)"}, {"log", true}};
  }
  for (const FollowedCase& one : cases) {
    if (model_of(one) != model) continue;
    const auto theories =
        std::ranges::count_if(one.runs, [](const MethodRun& run) { return run.method != Method::sgd; });
    DynamicsPlan of_panel = plan;
    of_panel.models = 1;
    const std::string student = case_words(of_panel, one.what.problem, true);
    for (const MethodRun& run : one.runs) {
      if (run.points.empty()) continue;
      Json series = series_json(run, one.what.problem, quantity);
      const bool says_method = theories > 1 && run.method != Method::sgd;
      std::string label = student;
      if (says_method) label += (label.empty() ? "" : ": ") + method_words(run, true);
      series["label"] = label;
      json["series"].push_back(series);
    }
  }
  return json;
}

/// A line where nothing was averaged over seeds, or a flow; points for descent. What a truncation cannot be
/// trusted with is dashed.
Json series_json(const MethodRun& run, const DynamicsProblem& problem, const Quantity& quantity) {
  const bool is_measured = run.method == Method::sgd;
  Json x = Json::array();
  Json y = Json::array();
  Json se = Json::array();
  Json trusted = Json::array();
  for (const DynamicsPoint& point : run.points) {
    const Estimate& value = point.*quantity.value;
    if (is_fast(quantity) && point.time <= 0) continue;
    x.push_back(is_fast(quantity) ? point.time * problem.dimension : point.time);
    y.push_back(std::isfinite(value.value) ? Json(value.value) : Json());
    se.push_back(std::isfinite(value.se) ? Json(value.se) : Json(0));
    trusted.push_back(point.time <= run.trusted_until);
  }
  if (!is_measured) return {{"theory", {{"x", x}, {"y", y}, {"se", se}, {"stable", trusted}}}};
  return {{"measured",
           {{"x", x},
            {"mean", y},
            {"se", se},
            {"by", "SGD"},
            {"dimension", problem.dimension},
            {"seeds", std::max(1, run.seeds)}}}};
}

Json escape_series(const experiment::WeakRecoveryStudy& study, int seeds) {
  Json measured{{"x", Json::array()}, {"mean", Json::array()}, {"se", Json::array()}, {"by", "SGD"}};
  for (const experiment::EscapeAt& escape : study.escapes) {
    const double square = static_cast<double>(escape.dimension) * escape.dimension;
    if (!std::isfinite(escape.samples.value)) continue;
    measured["x"].push_back(escape.dimension);
    measured["mean"].push_back(escape.samples.value / square);
    measured["se"].push_back(escape.samples.se / square);
  }
  measured["seeds"] = seeds;
  return {{"measured", measured}};
}

Json fitted_line(const experiment::WeakRecoveryStudy& study, const std::string& student) {
  const auto power = std::ranges::find(study.fits, "A d^x", &experiment::ScalingFit::law);
  if (power == study.fits.end()) return {};
  const std::string law = fmt::format("$n \\propto d^{{{}}}$", with_error(power->exponent));
  Json line{
      {"label", student.empty() ? law : student + ": " + law}, {"x", Json::array()}, {"y", Json::array()}};
  for (const experiment::EscapeAt& escape : study.escapes) {
    const double d = escape.dimension;
    line["x"].push_back(d);
    line["y"].push_back(power->amplitude.value * std::pow(d, power->exponent.value - 2));
  }
  return line;
}

}  // namespace
}  // namespace qklab::cli
