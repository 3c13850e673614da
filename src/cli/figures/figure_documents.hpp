#pragma once

#include <string>
#include <vector>

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/description/plan.hpp"

namespace qklab::cli {

/// Below a figure with trained runs and sampled theory.
inline constexpr const char* footer_of_errors = "error bars and bands: one standard error";

/// The option that says what a learning curve shows, and what it says. Throws InvalidParameter for a name
/// that is no quantity.
experiment::Option quantity_option();
std::vector<std::string> quantities_to_show(const experiment::Description& options);

/// The quantities, a panel each, along the first axis of the plan (alpha when nothing varies), one series for
/// each combination of the others. `points` are the first of the plan, as many as are finished; without runs
/// theory alone is drawn. `references` are lines for the test error, as bayes_references gives them.
experiment::Json learning_curve(const experiment::Plan& plan,
                                const std::vector<experiment::Comparison>& points,
                                const experiment::Json& references,
                                const std::vector<std::string>& quantities);

/// The Bayes-optimal test error along the first axis of the plan, a line for each combination of the others
/// that it depends on.
experiment::Json bayes_references(const experiment::Plan& plan, const theory::SolveOptions& options);

/// The same lines as a learning curve of their own.
experiment::Json bayes_curve(const experiment::Plan& plan, const theory::SolveOptions& options);

}  // namespace qklab::cli
