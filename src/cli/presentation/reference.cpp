#include "reference.hpp"

#include <nlohmann/json.hpp>

#include "cli/figures/figure_documents.hpp"
#include "qklab/experiment/comparison/theory_line.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {

Reference reference_of(const Problem& problem, const theory::SolveOptions& options, bool wanted) {
  return wanted ? Reference(theory::solve_bayes(problem, options)) : std::nullopt;
}

experiment::Json with_reference_json(experiment::Json point, const Reference& reference,
                                     const theory::SolveOptions& options) {
  if (reference) point["bayes"] = experiment::to_json(*reference, options);
  return point;
}

std::string with_reference_list(std::string list, const Reference& reference) {
  if (!reference) return list;
  return list + "\n" +
         list_line("Bayes-optimal", with_error(reference->test_error), "test error of the posterior mean");
}

std::vector<Column> with_reference_column(std::vector<Column> columns, bool wanted) {
  if (!wanted) return columns;
  const bool has_two_lines = columns[1].title.find('\n') != std::string::npos;
  columns.insert(columns.begin() + 1, {has_two_lines ? "\nBayes" : "Bayes"});
  return columns;
}

std::vector<std::string> with_reference_cell(std::vector<std::string> cells, const Reference& reference) {
  if (reference) cells.insert(cells.begin() + 1, with_error(reference->test_error));
  return cells;
}

experiment::Json curve_with_reference(const experiment::Plan& plan,
                                      const std::vector<experiment::Comparison>& points,
                                      const theory::SolveOptions& options, bool wanted,
                                      const std::vector<std::string>& quantities) {
  constexpr int line_points = 60;
  const auto curve = experiment::with_theory_between(plan, points, line_points, options);
  return learning_curve(curve.plan, curve.points,
                        wanted ? bayes_references(curve.plan, options) : experiment::Json::array(),
                        quantities);
}

Verb::Group theory_and_reference_group() {
  Verb::Group group{"Theory", experiment::theory_options()};
  for (const experiment::Option& option : estimator_options()) group.options.push_back(option);
  group.options.push_back(quantity_option());
  return group;
}

}  // namespace qklab::cli
