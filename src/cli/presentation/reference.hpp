#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session/verb.hpp"
#include "qklab/cli/words/table.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"

namespace qklab::cli {

/// The Bayes-optimal reference beside a point, where it is wanted.
using Reference = std::optional<theory::BayesSolution>;

Reference reference_of(const Problem& problem, const theory::SolveOptions& options, bool wanted);

// The forms of a point with its reference added; as they are where there is none.

experiment::Json with_reference_json(experiment::Json point, const Reference& reference,
                                     const theory::SolveOptions& options);
std::string with_reference_list(std::string list, const Reference& reference);
std::vector<Column> with_reference_column(std::vector<Column> columns, bool wanted);
std::vector<std::string> with_reference_cell(std::vector<std::string> cells, const Reference& reference);

/// The learning curve of the points, with enough theory between them for lines that look smooth, and the
/// reference as further lines where it is wanted.
experiment::Json curve_with_reference(const experiment::Plan& plan,
                                      const std::vector<experiment::Comparison>& points,
                                      const theory::SolveOptions& options, bool wanted,
                                      const std::vector<std::string>& quantities);

/// Options of theory, of the reference, and of what the figure shows.
Verb::Group theory_and_reference_group();

}  // namespace qklab::cli
