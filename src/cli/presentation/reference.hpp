#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// Lines for the figure of the plan; none where they are not wanted.
experiment::Json references_of(const experiment::Plan& plan, const theory::SolveOptions& options,
                               bool wanted);

}  // namespace qklab::cli
