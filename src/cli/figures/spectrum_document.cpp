#include "spectrum_document.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/words/wording.hpp"
#include "qklab/experiment/comparison/spectral_parts.hpp"
#include "qklab/experiment/comparison/spectrum.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;
using experiment::DensityCurve;
using experiment::Json;
using experiment::Plan;

/// More modes than this are too many to mark one by one.
constexpr int most_modes = 60;

bool is_tied(const Comparison& point) {
  return point.theory.problem.parametrization == Parametrization::tied;
}

/// A predicted or trained eigenvalue of S in the panel's variable.
double shown_value(double eigenvalue, const Comparison& point, SpectrumOf shown) {
  if (shown == SpectrumOf::student) return eigenvalue;
  return is_tied(point) ? std::sqrt(std::max(0.0, eigenvalue)) : std::abs(eigenvalue);
}

std::vector<double> trained_values(const Comparison& point, SpectrumOf shown) {
  std::vector<double> values;
  for (const lab::TrainedRun& run : point.runs) {
    const bool has_own = shown == SpectrumOf::weights && !run.singular_values.empty();
    for (double value : has_own ? run.singular_values : run.eigenvalues) {
      values.push_back(shown_value(value, point, shown));
    }
  }
  return values;
}

/// Intervals on which the curve was sampled: where it is zero at a gap a new one begins.
Json edges_json(const Comparison& point, SpectrumOf shown) {
  Json edges = Json::array();
  for (const Interval& edge : point.theory.edges) {
    const double a = shown_value(edge.lo, point, shown);
    const double b = shown_value(edge.hi, point, shown);
    edges.push_back(Json::array({std::min(a, b), std::max(a, b)}));
  }
  return edges;
}

Json predicted_outliers(const std::vector<experiment::ModeComparison>& modes, const Comparison& point,
                        SpectrumOf shown) {
  Json list = Json::array();
  for (const auto& mode : modes) {
    if (!mode.predicted.recovered) continue;
    list.push_back({{"value", shown_value(mode.predicted.learned, point, shown)},
                    {"alignment", mode.predicted.alignment},
                    {"teacher", mode.predicted.teacher}});
  }
  return list;
}

/// Squared alignment of each isolated mode against its teacher eigenvalue.
Json modes_json(const std::vector<experiment::ModeComparison>& modes, const Comparison& point) {
  Json json{{"label", "squared alignment"}, {"teacher", Json::array()}, {"predicted", Json::array()}};
  Json measured{{"teacher", Json::array()}, {"mean", Json::array()}, {"se", Json::array()}};
  for (const auto& mode : modes) {
    json["teacher"].push_back(mode.predicted.teacher);
    json["predicted"].push_back(mode.predicted.alignment);
    measured["teacher"].push_back(mode.predicted.teacher);
    measured["mean"].push_back(mode.alignment.value);
    measured["se"].push_back(mode.alignment.se);
  }
  if (point.runs.empty()) return json;
  measured["dimension"] = point.theory.problem.dimension;
  measured["seeds"] = point.runs.size();
  json["measured"] = measured;
  return json;
}

Json profile_json(const Comparison& point) {
  Json json{{"x", Json::array()}, {"y", Json::array()}};
  json["x_label"] = "eigenvalue of $S$";
  json["y_label"] = "teacher level $v^T S_0 v$";
  for (const theory::Level& level :
       theory::level_profile(point.theory.spectrum, experiment::profile_points)) {
    json["x"].push_back(level.student);
    json["y"].push_back(level.teacher);
  }
  if (point.runs.empty()) return json;
  Json measured{{"x", Json::array()}, {"mean", Json::array()}, {"se", Json::array()}};
  for (const auto& level : experiment::measured_profile(point, experiment::profile_bins)) {
    measured["x"].push_back(level.student);
    measured["mean"].push_back(level.teacher.value);
    measured["se"].push_back(level.teacher.se);
  }
  measured["dimension"] = point.theory.problem.dimension;
  measured["seeds"] = point.runs.size();
  json["measured"] = measured;
  return json;
}

Json panel(const Plan& plan, const Comparison& point, int density_points, SpectrumOf shown) {
  const theory::StudentSpectrum& spectrum = point.theory.spectrum;
  const bool eigenvalues = shown == SpectrumOf::student;
  const DensityCurve density = eigenvalues ? experiment::eigenvalue_density(spectrum, density_points)
                                           : experiment::singular_value_density(spectrum, density_points);
  const auto modes = experiment::compare_modes(point, most_modes);
  Json panel{{"title", axis_values(point.theory.problem, plan.axes)},
             {"x_label", eigenvalues      ? "eigenvalue of $S$"
                         : is_tied(point) ? "singular value of $W$"
                                          : "singular value of $S$"},
             {"density", {{"x", density.x}, {"p", density.p}}},
             {"atom_at_zero", point.theory.zero_fraction.value},
             {"edges", edges_json(point, shown)}};
  if (!modes.empty()) panel["predicted_outliers"] = predicted_outliers(modes, point, shown);
  if (!point.runs.empty()) {
    panel["histogram"] = {{"eigenvalues", trained_values(point, shown)},
                          {"zero_below", eigenvalues || !is_tied(point) ? experiment::zero_below
                                                                        : std::sqrt(experiment::zero_below)},
                          {"dimension", point.theory.problem.dimension},
                          {"seeds", point.runs.size()}};
  }
  if (!eigenvalues) return panel;
  if (!modes.empty()) {
    panel["modes"] = modes_json(modes, point);
  } else if (!density.x.empty()) {
    panel["profile"] = profile_json(point);
  }
  return panel;
}

}  // namespace

Json spectra(const Plan& plan, const std::vector<Comparison>& points, int density_points, SpectrumOf shown) {
  Json panels = Json::array();
  for (const Comparison& point : points) panels.push_back(panel(plan, point, density_points, shown));
  return {{"kind", "spectrum"}, {"title", figure_title(plan)}, {"panels", panels}};
}

}  // namespace qklab::cli
