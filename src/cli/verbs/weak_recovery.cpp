#include "weak_recovery.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/dynamics_document.hpp"
#include "cli/figures/figure.hpp"
#include "cli/words/wording.hpp"
#include "qklab/cli/words/table.hpp"

namespace qklab::cli {
namespace {

using experiment::DynamicsPlan;
using experiment::EscapeAt;
using experiment::RecoveryVerdict;
using experiment::ScalingFit;
using experiment::WeakRecoveryOptions;
using experiment::WeakRecoveryStudy;

/// One case for each model and parametrization: the study has its own way along d.
DynamicsPlan without_dimensions(DynamicsPlan plan);

Table escape_table() {
  return Table({{"d", 6}, {"escaped", 9}, {"tau"}, {"samples n"}, {"n/d^2"}}, 5);
}

std::string verdict_words(const RecoveryVerdict& verdict) {
  return fmt::format("cross-gradient at the start {}, speed of the overlap {:.3g}: {}",
                     with_error(verdict.cross_gradient), verdict.speed,
                     verdict.recovers ? "escapes at tau of order 1" : "escapes late, or never");
}

std::string escape_row(const EscapeAt& escape) {
  const double square = static_cast<double>(escape.dimension) * escape.dimension;
  return escape_table().row(
      {std::to_string(escape.dimension), fmt::format("{} of {}", escape.escaped, escape.seeds),
       with_error(escape.time), with_error(escape.samples),
       with_error({escape.samples.value / square, escape.samples.se / square})},
      escape.diverged > 0 ? fmt::format("{} diverged", escape.diverged) : "");
}

std::string fit_rows(const WeakRecoveryStudy& study) {
  if (study.fits.empty()) return "no fit: fewer than two dimensions at which every run escaped";
  TableText table({{"n =", 12}, {"A"}, {"x"}, {"chi2", 8}, {"freedom", 8}, {"AIC", 8}}, 6);
  for (const ScalingFit& fit : study.fits) {
    table.add({fit.law, with_error(fit.amplitude), with_error(fit.exponent), fmt::format("{:.3g}", fit.chi2),
               std::to_string(fit.degrees), fmt::format("{:.3g}", fit.aic)});
  }
  return table.text();
}

}  // namespace

Status study_weak_recovery(Session& session, const DynamicsPlan& given) {
  const DynamicsPlan plan = without_dimensions(given);
  WeakRecoveryOptions options = experiment::weak_recovery_plan(session.options);
  options.stop = session.stop;
  options.progress = session.bar.whole();
  const std::optional<Figure> figure = figure_of(session);
  const bool json = session.options.on("json");
  if (!json) session.print(dynamics_title(plan, false));
  std::vector<WeakRecoveryStudy> studies;
  bool complete = true;
  for (const experiment::DynamicsCase& one : plan.cases) {
    if (session.stop.requested()) break;
    const std::string name = case_words(plan, one.problem, false);
    if (!json) {
      const RecoveryVerdict verdict = experiment::recovery_verdict(one.problem, options.start);
      session.print(fmt::format("\n{}{}{}\n{}", name, name.empty() ? "" : "\n", verdict_words(verdict),
                                escape_table().heading()));
    }
    studies.push_back(experiment::study_weak_recovery(one.problem, options, [&](const EscapeAt& escape) {
      if (!json) session.print(escape_row(escape));
    }));
    session.print(json ? to_json(one.problem, options, studies.back()).dump()
                       : fmt::format("\n{}", fit_rows(studies.back())));
    complete = complete && is_answer(studies.back().outcome);
  }
  session.bar.clear();
  if (figure && !studies.empty()) figure->draw(weak_recovery_figure(plan, options, studies));
  return complete ? Status::done : Status::not_converged;
}

namespace {

DynamicsPlan without_dimensions(DynamicsPlan plan) {
  std::vector<experiment::DynamicsCase> cases;
  for (std::size_t i = 0; i < plan.cases.size(); i += static_cast<std::size_t>(plan.dimensions)) {
    cases.push_back(plan.cases[i]);
  }
  plan.cases = std::move(cases);
  plan.dimensions = 1;
  return plan;
}

}  // namespace
}  // namespace qklab::cli
