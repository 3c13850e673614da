#include "generalization_documents.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/words/wording.hpp"
#include "figure_documents.hpp"
#include "qklab/experiment/comparison/spectral_parts.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;
using experiment::Deviation;
using experiment::Json;
using experiment::Plan;

/// The curve and the measured points of one quantity, filled place by place.
struct Line {
  Json theory{{"x", Json::array()}, {"y", Json::array()}, {"se", Json::array()}};
  Json measured{{"x", Json::array()}, {"mean", Json::array()}, {"se", Json::array()}};

  void predict(double x, const Estimate& y) {
    theory["x"].push_back(x);
    theory["y"].push_back(y.value);
    theory["se"].push_back(y.se);
  }
  void measure(double x, const Estimate& y) {
    measured["x"].push_back(x);
    measured["mean"].push_back(y.value);
    measured["se"].push_back(y.se);
  }
  Json json(const std::string& label, int dimension, std::size_t seeds) const {
    Json line{{"label", label}, {"theory", theory}};
    if (measured["x"].empty()) return line;
    line["measured"] = measured;
    line["measured"]["dimension"] = dimension;
    line["measured"]["seeds"] = seeds;
    return line;
  }
};

struct Part {
  const char* quantity;
  const char* label;
};

/// The parts that enter the test error through its slope.
constexpr Part spectral_parts[] = {
    {"overfitting", "overfitting"},
    {"underfitting", "underfitting"},
    {"approximation", "approximation"},
    {"cross", "cross term"},
};

Estimate scaled(const Estimate& estimate, double factor) {
  return {factor * estimate.value, std::abs(factor) * estimate.se};
}

std::string exponent_words(double exponent) {
  return fmt::format("$n^{{{:.3g}}}$", exponent);
}

Json scaling_series(const experiment::ScalingStudy& study, const std::string& label);
Json emergence(const theory::ScalingLaw& law);

}  // namespace

Json decomposition_figure(const Plan& plan, const std::vector<SplitPoint>& points) {
  const std::string option = plan.axes.empty() ? "alpha" : plan.axes.front().option;
  std::vector<Line> lines(std::size(spectral_parts) + 3);
  Line& mismatch = lines[std::size(spectral_parts)];
  Line& remainder = lines[std::size(spectral_parts) + 1];
  Line& total = lines[std::size(spectral_parts) + 2];
  std::size_t seeds = 0;
  bool has_mismatch = false;
  for (const auto& [point, split] : points) {
    const double x = experiment::option_value(point.theory.problem, option);
    const double slope = split.gradient_self_overlap.value;
    has_mismatch |= split.scale.value != 1;
    seeds = std::max(seeds, point.runs.size());
    for (const Deviation& part : experiment::part_deviations(point, split)) {
      Line* line = &total;
      double factor = 1;
      for (std::size_t k = 0; k < std::size(spectral_parts); ++k) {
        if (part.quantity != spectral_parts[k].quantity) continue;
        line = &lines[k];
        factor = slope;
      }
      if (part.quantity == "mismatch") line = &mismatch;
      if (part.quantity == "remainder") line = &remainder;
      line->predict(x, scaled(part.theory, factor));
      if (!point.runs.empty()) line->measure(x, scaled(part.trained, factor));
    }
  }
  const int dimension = points.front().point.theory.problem.dimension;
  Json parts = Json::array();
  const auto add = [&](const Line& line, const char* name, const char* label) {
    parts.push_back(line.json(label, dimension, seeds));
    parts.back()["name"] = name;
  };
  for (std::size_t k = 0; k < std::size(spectral_parts); ++k) {
    add(lines[k], spectral_parts[k].quantity, spectral_parts[k].label);
  }
  if (has_mismatch) add(mismatch, "mismatch", "mismatch");
  if (points.front().point.theory.problem.activation == Activation::softmax) {
    add(remainder, "remainder", "remainder");
  }
  Json sum = total.json("test error", dimension, seeds);
  sum["name"] = "test_error";
  return {{"kind", "decomposition"},
          {"title", figure_title(plan)},
          {"x", {{"name", option}, {"label", axis_label(option)}, {"log", true}}},
          {"label", "part of the test error"},
          {"parts", parts},
          {"total", sum},
          {"footer", footer_of_errors}};
}

Json weight_decay_figure(const Plan& plan, const std::vector<TunedPoint>& points) {
  Json series = Json::array();
  for (const auto& [best, given, trained] : points) {
    Line line;
    for (const theory::Solution& solution : best.curve) {
      if (is_answer(solution.outcome)) line.predict(solution.problem.lambda, solution.test_error);
    }
    std::size_t seeds = 0;
    for (const Comparison& point : trained) {
      line.measure(point.theory.problem.lambda, experiment::deviations(point).front().trained);
      seeds = point.runs.size();
    }
    Json one = line.json(axis_values(best.best.problem, plan.axes), best.best.problem.dimension, seeds);
    one["optimum"] = {{"x", best.lambda.value}, {"x_se", best.lambda.se}, {"y", best.best.test_error.value}};
    if (std::isfinite(best.flat_low) && std::isfinite(best.flat_high)) {
      one["flat"] = Json::array({best.flat_low, best.flat_high});
    }
    if (is_answer(given.outcome)) {
      one["given"] = {{"x", given.problem.lambda}, {"y", given.test_error.value}};
    }
    series.push_back(one);
  }
  return {{"kind", "weight_decay"},
          {"title", figure_title(plan, {"lambda"})},
          {"label", "test error"},
          {"series", series},
          {"footer", footer_of_errors}};
}

Json scaling_figure(const Plan& plan, const std::vector<experiment::ScalingStudy>& studies) {
  Json series = Json::array();
  for (const experiment::ScalingStudy& study : studies) {
    if (study.law.points.empty()) continue;
    const Problem& problem = study.law.points.front().solution.problem;
    series.push_back(scaling_series(study, axis_values(problem, plan.further_axes())));
  }
  Json document{{"kind", "scaling"},
                {"title", figure_title(plan)},
                {"x", {{"name", "samples"}, {"label", axis_label("samples")}}},
                {"label", "excess test error"},
                {"series", series},
                {"footer", footer_of_errors}};
  if (studies.size() == 1) document["emergence"] = emergence(studies.front().law);
  return document;
}

namespace {

Json scaling_series(const experiment::ScalingStudy& study, const std::string& label) {
  const theory::ScalingLaw& law = study.law;
  const Problem& problem = law.points.front().solution.problem;
  Line line;
  Json local{{"x", Json::array()}, {"y", Json::array()}, {"se", Json::array()}};
  Json recovered{{"x", Json::array()}, {"y", Json::array()}};
  for (const theory::ScalingPoint& point : law.points) {
    line.predict(point.samples, point.excess);
    local["x"].push_back(point.samples);
    local["y"].push_back(point.local_exponent.value);
    local["se"].push_back(point.local_exponent.se);
    if (point.recovered == 0) continue;
    recovered["x"].push_back(point.samples);
    recovered["y"].push_back(point.recovered);
  }
  std::size_t seeds = 0;
  for (const Comparison& point : study.trained) {
    const Estimate trained = experiment::deviations(point).front().trained;
    line.measure(static_cast<double>(sample_count(point.theory.problem)),
                 {trained.value - law.saturation_error.value, trained.se});
    seeds = point.runs.size();
  }
  Json one = line.json(label, problem.dimension, seeds);
  one["local"] = local;
  if (!recovered["x"].empty()) one["recovered"] = recovered;
  if (const auto* power = std::get_if<PowerLawTeacher>(&problem.teacher)) {
    const double exponent = theory::predicted_exponent(power->gamma);
    one["predicted_exponent"] = exponent;
    one["guide"] = {{"exponent", exponent}, {"label", exponent_words(exponent)}};
  }
  return one;
}

Json emergence(const theory::ScalingLaw& law) {
  Json modes = Json::array();
  for (const theory::ModeEntry& mode : law.modes) {
    Json one{{"mode", mode.mode}, {"x", Json::array()}, {"y", mode.remaining}};
    for (const theory::ScalingPoint& point : law.points) one["x"].push_back(point.samples);
    if (std::isfinite(mode.enters)) one["enters"] = mode.enters;
    modes.push_back(one);
  }
  return modes;
}

}  // namespace
}  // namespace qklab::cli
