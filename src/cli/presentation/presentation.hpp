#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/session/verb.hpp"
#include "point_printer.hpp"
#include "qklab/cli/words/table.hpp"
#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/comparison/json.hpp"

namespace qklab::cli {

/// How a verb shows the points it works through.
struct Presentation {
  std::vector<Column> columns;
  std::string note;
  std::function<PointForms(const experiment::Comparison&)> forms;
  /// The document of the figure that --plot asks for.
  std::function<experiment::Json(const std::vector<experiment::Comparison>&)> figure;
};

/// Options of theory and training from the command line; `seeds` trained runs of each point.
experiment::CompareOptions compare_options(Session& session, int seeds);

/// Works through the plan, prints each point when it is finished, and draws the figure, also of the points
/// that were finished when the work is stopped. What would go wrong at the end (memory, figure) is found
/// before the first point.
Status present(Session& session, const experiment::Plan& plan, const experiment::CompareOptions& options,
               const Presentation& presentation);

}  // namespace qklab::cli
