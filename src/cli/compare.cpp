#include "qklab/experiment/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "figure_documents.hpp"
#include "presentation.hpp"
#include "qklab/experiment/run_options.hpp"
#include "qklab/experiment/theory_line.hpp"
#include "verb.hpp"
#include "wording.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;
using experiment::Deviation;

/// Enough for a line that looks smooth.
constexpr int line_points = 60;

std::string in_errors(double deviation) {
  return std::isnan(deviation) ? "-" : fmt::format("{:+.1f}", deviation);
}

/// A single point: a row for each quantity.
std::string quantity_rows(const Comparison& comparison) {
  const Table table({{"", 14}, {"theory"}, {"trained"}, {"deviation", 10}}, 4);
  std::string text = table.heading();
  for (const Deviation& quantity : deviations(comparison)) {
    text.append("\n").append(table.row({quantity.quantity, with_error(quantity.theory),
                                        with_error(quantity.trained), in_errors(quantity.in_errors)}));
  }
  if (const std::string words = remark(comparison); !words.empty()) text.append("\n").append(words);
  return text;
}

std::vector<std::string> cells(const Comparison& comparison) {
  const std::vector<Deviation> all = deviations(comparison);
  const Deviation& test = all[0];
  const Deviation& train = all[1];
  const Deviation& overlap = all[3];
  const Deviation& self_overlap = all[4];
  return {with_error(test.theory),    with_error(test.trained),     in_errors(test.in_errors),
          in_errors(train.in_errors), in_errors(overlap.in_errors), in_errors(self_overlap.in_errors)};
}

Status compare_points(Session& session) {
  require_known_estimator(session.options);
  const experiment::Plan plan = experiment::plan(session.options);
  const experiment::CompareOptions options = compare_options(session, experiment::seeds(session.options));
  const Presentation presentation{
      .columns = {{"test error:\ntheory"},
                  {"\ntrained"},
                  {"\ndev", 6},
                  {"loss\ndev", 6},
                  {"m\ndev", 6},
                  {"q\ndev", 6}},
      .note = fmt::format("{}: mean of {} seeds; dev in standard errors", trained_words(plan), options.seeds),
      .forms =
          [&options](const Comparison& point) {
            return PointForms{[&] { return experiment::to_json(point, options); },
                              [&] { return quantity_rows(point); }, [&] { return cells(point); },
                              remark(point)};
          },
      .figure =
          [&](const auto& points) {
            const auto curve = experiment::with_theory_between(plan, points, line_points, options.solve);
            return learning_curve(curve.plan, curve.points);
          },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb compare_verb() {
  Verb::Group theory{"Theory", experiment::theory_options()};
  theory.options.push_back(estimator_option());
  Verb::Group training{"Training", experiment::training_options()};
  training.options.push_back(experiment::seeds_option());
  return {"compare",
          "theory and trained models side by side",
          {problem_group(), theory, training, output_group(true)},
          compare_points};
}

}  // namespace qklab::cli
