#include "point_printer.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/words/wording.hpp"

namespace qklab::cli {
namespace {

std::vector<std::string> varying_options(const experiment::Plan& plan) {
  std::vector<std::string> options;
  for (const experiment::Axis& axis : plan.axes) options.push_back(axis.option);
  if (plan.at_best_lambda) options.emplace_back("lambda");
  return options;
}

std::vector<Column> columns(const std::vector<std::string>& options, const std::vector<Column>& quantities) {
  std::vector<Column> columns;
  for (const std::string& option : options) columns.push_back({plain_symbol(option), 8});
  columns.insert(columns.end(), quantities.begin(), quantities.end());
  return columns;
}

}  // namespace

PointPrinter::PointPrinter(Session& session, const experiment::Plan& plan,
                           const std::vector<Column>& quantities, const std::string& note,
                           const std::vector<std::string>& unsaid)
    : session_(session),
      json_(session.options.on("json")),
      single_(plan.points.size() == 1),
      options_(varying_options(plan)),
      table_(columns(options_, quantities), options_.size() + 1) {
  if (json_) return;
  heading_ = plain_heading(plan, unsaid) + "\n";
  if (!note.empty()) heading_ += note + "\n";
  if (!single_) heading_.append("\n").append(table_.heading());
}

void PointPrinter::print(const Problem& problem, const PointForms& forms) {
  // Not before: a verb that refuses its first point has printed nothing.
  if (!heading_.empty()) session_.print(std::exchange(heading_, {}));
  if (json_) {
    session_.print(forms.json().dump());
  } else {
    session_.print(single_ ? forms.list() : row(problem, forms));
  }
}

std::string PointPrinter::row(const Problem& problem, const PointForms& forms) const {
  std::vector<std::string> cells;
  for (const std::string& option : options_) {
    cells.push_back(option == "parametrization"
                        ? to_string(problem.parametrization)
                        : fmt::format("{:.5g}", experiment::option_value(problem, option)));
  }
  const std::vector<std::string> quantities = forms.cells();
  cells.insert(cells.end(), quantities.begin(), quantities.end());
  return table_.row(cells, forms.remark);
}

}  // namespace qklab::cli
