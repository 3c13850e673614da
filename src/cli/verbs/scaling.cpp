#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/figure.hpp"
#include "cli/figures/generalization_documents.hpp"
#include "cli/presentation/presentation.hpp"
#include "cli/session/trained_options.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/experiment/generalization/generalization_json.hpp"

namespace qklab::cli {
namespace {

using experiment::ScalingStudy;

std::string fit_words(const theory::ScalingLaw& law, const Problem& problem) {
  std::string text = fmt::format("exponent {} fitted from n = {:.4g} to {:.4g}", with_error(law.exponent),
                                 law.fitted_from, law.fitted_to);
  if (const auto* power = std::get_if<PowerLawTeacher>(&problem.teacher)) {
    text += fmt::format("; limit -(1 - 1/(2 gamma)) = {:.4g}", theory::predicted_exponent(power->gamma));
  }
  return text;
}

/// "modes enter at n = 1: 750, 2: 2.4e+03, ...", broken into lines.
std::string entries_words(const theory::ScalingLaw& law) {
  std::string text;
  std::string line = "modes enter at n =";
  for (const theory::ModeEntry& mode : law.modes) {
    if (!std::isfinite(mode.enters)) continue;
    const std::string entry = fmt::format(" {}: {:.2g}", mode.mode, mode.enters);
    if (line.size() + entry.size() > Table::columns_of_a_page) {
      text += line + "\n";
      line = "  ";
    }
    line += entry;
  }
  return line.ends_with("=") ? "" : text + line;
}

std::string scaling_table(const ScalingStudy& study, const std::string& name) {
  TableText table(
      {{"n", 11}, {"lambda", 10}, {"excess error"}, {"exponent", 10}, {"modes", 6}, {"regime", 13}}, 4);
  for (const theory::ScalingPoint& point : study.law.points) {
    table.add({number(point.samples), fmt::format("{:.4g}", point.solution.problem.lambda),
               with_error(point.excess), with_error(point.local_exponent), std::to_string(point.recovered),
               to_string(point.regime)},
              remark(point.solution));
  }
  std::string text = name.empty() ? table.text() : name + "\n" + table.text();
  for (const experiment::Comparison& point : study.trained) {
    const experiment::Deviation test = experiment::deviations(point).front();
    text += fmt::format("\ntrained, n = {}: test error {}, predicted {}", sample_count(point.theory.problem),
                        with_error(test.trained), with_error(test.theory));
  }
  if (!study.law.points.empty()) {
    text.append("\n").append(fit_words(study.law, study.law.points.front().solution.problem));
  }
  if (const std::string words = entries_words(study.law); !words.empty()) text.append("\n").append(words);
  return text;
}

theory::ScalingOptions scaling_options(Session& session, const experiment::Plan& plan) {
  theory::ScalingOptions options;
  options.tuned = plan.at_best_lambda;
  options.modes = static_cast<int>(session.options.whole_number("followed_modes", 0, 1000));
  if (session.options.given("fit")) {
    const std::vector<double> range = session.options.numbers("fit");
    if (range.size() != 2 || !(range[0] < range[1])) {
      throw InvalidParameter("fit", session.options.text("fit"), "must be LOW,HIGH, numbers of samples");
    }
    options.fit_low = range[0];
    options.fit_high = range[1];
  }
  options.progress = session.bar.whole();
  return options;
}

Status follow_samples(Session& session) {
  experiment::Plan plan = session.plan();
  plan.at_best_lambda |= !session.options.given("lambda");
  const auto all_series = experiment::sample_series(plan);
  const auto trained_points = static_cast<int>(session.options.whole_number("trained_points", 0, 100'000));
  experiment::CompareOptions options =
      compare_options(session, seeds_on_request(session.options, "trained_points"));
  options.solve.qmc.log2_points = experiment::search_log2_points(session.options, plan.points.front());
  if (options.seeds > 0) prepare_training(session, plan.points, options.train);
  theory::ScalingOptions scaling = scaling_options(session, plan);
  scaling.qmc = options.solve.qmc;
  const std::optional<Figure> figure = figure_of(session);
  const bool as_json = session.options.on("json");
  const std::vector<experiment::Axis> others = plan.further_axes();

  Convergence convergence;
  std::vector<ScalingStudy> finished;
  for (const std::vector<Problem>& series : all_series) {
    if (session.stop.requested()) break;
    ScalingStudy study = study_scaling(series, scaling, options, trained_points);
    session.bar.clear();
    // Not before: a series that is refused has printed nothing.
    if (!as_json && finished.empty()) session.print(plain_heading(plan) + "\n");
    session.print(as_json ? scaling_json(study, options.solve).dump()
                          : scaling_table(study, plain_values(series.front(), others)));
    convergence.add(series.front(), study.law.unconverged > 0 ? Outcome::stagnated : study.law.outcome);
    finished.push_back(std::move(study));
  }
  if (figure && !finished.empty()) figure->draw(scaling_figure(plan, finished));
  return convergence.conclude(session);
}

}  // namespace

Verb scaling_verb() {
  return {"scaling",
          "test error along n: exponents, regimes, emergence of modes",
          {problem_group(),
           {"Theory", experiment::theory_options()},
           {"Scaling",
            {{"fit", "LOW,HIGH", "numbers of samples between which the exponent is fitted", ""},
             {"followed_modes", "NUMBER", "largest modes whose entry is followed", "10"},
             {"trained_points", "NUMBER", "points, spread evenly, at which models are trained", "0"}}},
           training_on_request("trained_points"),
           output_group(true)},
          follow_samples};
}

}  // namespace qklab::cli
