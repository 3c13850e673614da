#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/generalization_documents.hpp"
#include "cli/presentation/presentation.hpp"
#include "cli/session/trained_options.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/experiment/comparison/spectral_parts.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/experiment/generalization/generalization_json.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;
using experiment::Deviation;
using theory::Decomposition;

constexpr int most_modes = 200;

std::string meaning(const std::string& quantity) {
  if (quantity == "overfitting") return "noise that was learned";
  if (quantity == "underfitting") return "modes not recovered";
  if (quantity == "approximation") return "recovered modes, bent and shrunk";
  if (quantity == "cross") return "what the bulk knows";
  if (quantity == "mismatch") return "scale of noisy labels";
  return "";
}

/// A single point: a row for each part.
std::string parts_list(const Comparison& point, const std::optional<Decomposition>& split) {
  if (!split) return list_line("outcome", std::string(describe(point.theory.outcome)));
  const bool is_trained = !point.runs.empty();
  TableText table = is_trained ? TableText({{"", 14}, {"theory"}, {"trained"}, {"deviation", 10}}, 4)
                               : TableText({{"", 14}, {"theory"}}, 2);
  for (const Deviation& part : experiment::part_deviations(point, *split)) {
    table.add(
        {part.quantity, with_error(part.theory), with_error(part.trained), deviation_words(part.in_errors)},
        is_trained ? "" : meaning(part.quantity));
  }
  std::string text = table.text();
  text += fmt::format("\n\ntest error = {} + {} (sum of the first four) + mismatch + remainder",
                      with_error(split->saturation_error), with_error(split->gradient_self_overlap));
  text += fmt::format("\nrecovered: {} {} of the teacher; pseudo-true scale {}", split->recovered,
                      split->is_band ? "modes, as one band," : "modes", with_error(split->scale));
  if (const std::string words = remark(point); !words.empty()) text += "\nremark: " + words;
  return text;
}

std::vector<std::string> cells(const std::optional<Decomposition>& split) {
  if (!split) return std::vector<std::string>(6, "-");
  const theory::ErrorParts& parts = split->parts;
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  return {with_error(split->test_error), number(parts.overfitting), number(parts.underfitting),
          number(parts.approximation),   number(parts.cross),       std::to_string(split->recovered)};
}

Status decompose_points(Session& session) {
  const experiment::Plan plan = session.plan();
  const experiment::CompareOptions options =
      compare_options(session, seeds_on_request(session.options, "train"));
  theory::Decomposer decompose(options.solve.qmc);
  std::vector<std::optional<Decomposition>> splits;  // of the points, in the order in which they are finished
  const Presentation presentation{
      .columns = {{"test error"}, {"over", 9}, {"under", 9}, {"approx", 10}, {"cross", 10}, {"modes", 5}},
      .note = options.seeds > 0 ? fmt::format("{}: {} seeds", trained_words(plan), options.seeds) : "",
      .forms =
          [&](const Comparison& point) {
            const auto split =
                is_answer(point.theory.outcome) ? std::optional(decompose(point.theory)) : std::nullopt;
            splits.push_back(split);
            return PointForms{[&point, &options, split] {
                                return experiment::decomposition_json(point, split, options, most_modes);
                              },
                              [&point, split] { return parts_list(point, split); },
                              [split] { return cells(split); }, remark(point)};
          },
      .figure =
          [&](const std::vector<Comparison>& finished) {
            std::vector<SplitPoint> points;
            for (std::size_t i = 0; i < finished.size(); ++i) {
              if (splits[i]) points.push_back({finished[i], *splits[i]});
            }
            return decomposition_figure(plan, points);
          },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb decompose_verb() {
  return {"decompose",
          "the test error by its spectral parts",
          {problem_group(),
           {"Theory", experiment::theory_options()},
           {"Decomposition", {{"train", "", "split trained models as well", ""}}},
           training_on_request("train"),
           output_group(true)},
          decompose_points};
}

}  // namespace qklab::cli
