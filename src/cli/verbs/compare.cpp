#include "qklab/experiment/comparison/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/figures/figure_documents.hpp"
#include "cli/presentation/presentation.hpp"
#include "cli/presentation/reference.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;
using experiment::Deviation;

/// A single point: a row for each quantity.
std::string quantity_rows(const std::vector<Deviation>& quantities, const std::string& prediction,
                          const std::string& deviation) {
  std::size_t longest = 14;
  for (const Deviation& quantity : quantities) longest = std::max(longest, quantity.quantity.size());
  TableText table({{"", static_cast<int>(longest)}, {prediction}, {"trained"}, {deviation, 10}}, 4);
  for (const Deviation& quantity : quantities) {
    table.add({quantity.quantity, with_error(quantity.theory), with_error(quantity.trained),
               deviation_words(quantity.in_errors)});
  }
  return table.text();
}

std::string with_remark(std::string rows, const Comparison& comparison) {
  if (const std::string words = remark(comparison); !words.empty()) rows.append("\n").append(words);
  return rows;
}

std::string quantity_rows(const Comparison& comparison) {
  return with_remark(quantity_rows(deviations(comparison), "theory", "deviation"), comparison);
}

std::vector<Column> columns() {
  return {{"test error:\ntheory"}, {"\ntrained"}, {"\ndev", 6},
          {"loss\ndev", 6},        {"m\ndev", 6}, {"q\ndev", 6}};
}

std::vector<Column> price_columns() {
  return {{"test error:\nBayes"}, {"\ntrained"},   {"\nprice", 7},
          {"m\nprice", 7},        {"q\nprice", 7}, {"test error:\nERM"}};
}

PointForms price_forms(const Comparison& point, const theory::BayesSolution& reference,
                       const experiment::CompareOptions& options) {
  return {[&point, reference, &options] { return experiment::price_json(point, reference, options); },
          [&point, reference] {
            return with_remark(quantity_rows(deviations(point, reference), "Bayes", "price"), point);
          },
          [&point, reference] {
            std::vector<std::string> cells{with_error(reference.test_error)};
            const std::vector<Deviation> quantities = deviations(point, reference);
            cells.push_back(with_error(quantities.front().trained));
            for (const Deviation& quantity : quantities) cells.push_back(deviation_words(quantity.in_errors));
            cells.push_back(with_error(point.theory.test_error));
            return cells;
          },
          remark(point)};
}

std::vector<std::string> cells(const Comparison& comparison) {
  const std::vector<Deviation> all = deviations(comparison);
  const Deviation& test = all[0];
  const Deviation& train = all[1];
  const Deviation& overlap = all[3];
  const Deviation& self_overlap = all[4];
  return {with_error(test.theory),
          with_error(test.trained),
          deviation_words(test.in_errors),
          deviation_words(train.in_errors),
          deviation_words(overlap.in_errors),
          deviation_words(self_overlap.in_errors)};
}

Status compare_points(Session& session) {
  const bool is_price = estimator_of(session.options) == Estimator::bayes;
  const experiment::Plan plan = session.plan();
  const bool with_reference = wants_reference(session.options, plan);
  const std::vector<std::string> quantities = quantities_to_show(session.options);
  const experiment::CompareOptions options = compare_options(session, experiment::seeds(session.options));
  const std::string trained = fmt::format("{}: mean of {} seeds", trained_words(plan), options.seeds);
  const Presentation presentation{
      .columns = is_price ? price_columns() : with_reference_column(columns(), with_reference),
      .note = trained + (is_price ? "; price of ERM in standard errors" : "; dev in standard errors"),
      .forms =
          [&](const Comparison& point) {
            const auto reference = reference_of(point.theory.problem, options.solve, with_reference);
            if (is_price) return price_forms(point, *reference, options);
            return PointForms{
                [&point, &options, reference] {
                  return with_reference_json(experiment::to_json(point, options), reference, options.solve);
                },
                [&point, reference] { return with_reference_list(quantity_rows(point), reference); },
                [&point, reference] { return with_reference_cell(cells(point), reference); }, remark(point)};
          },
      .figure =
          [&](const auto& points) {
            return curve_with_reference(plan, points, options.solve, with_reference, quantities);
          },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb compare_verb() {
  Verb::Group training{"Training", experiment::training_options()};
  training.options.push_back(experiment::seeds_option());
  return {"compare",
          "theory and trained models side by side",
          {problem_group(), theory_and_reference_group(), training, output_group(true)},
          compare_points};
}

}  // namespace qklab::cli
