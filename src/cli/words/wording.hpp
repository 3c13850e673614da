#pragma once

#include <string>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::cli {

/// The problem in plain text, two lines for the head of a table; options that vary over the plan are left
/// out, and so are those named, which play no part.
std::string plain_heading(const experiment::Plan& plan, const std::vector<std::string>& unsaid = {});

/// "trained, d = 60", or "trained" when d varies over the plan.
std::string trained_words(const experiment::Plan& plan);

/// The problem in one line of mathematical text ($...$) for the title of a figure; options that vary over the
/// plan are left out, and so are those named, which play no part.
std::string figure_title(const experiment::Plan& plan, const std::vector<std::string>& unsaid = {});

/// The names of what describes a student, for problems without one.
std::vector<std::string> options_of_a_student();

/// "$\alpha = 0.5$, $\lambda = 0.1$": the values of the given axes at a point, as mathematical text.
std::string axis_values(const Problem& problem, const std::vector<experiment::Axis>& axes);

/// The same in plain text: "alpha = 0.5, lambda = 0.1".
std::string plain_values(const Problem& problem, const std::vector<experiment::Axis>& axes);

/// The symbol of a numeric option in plain text.
std::string plain_symbol(const std::string& option);

/// The label of a figure's axis for a numeric option.
std::string axis_label(const std::string& option);

/// A deviation in standard errors: "+1.2", "-" where it is not known.
std::string deviation_words(double in_errors);

/// True when the scores are clearly not Gaussian and the softmax sees it (docs/theory section 1.1).
bool has_few_modes(const Problem& problem);

/// What to know before trusting a result: "", "not stable", "stability: -" (not known), "few modes", "zero
/// solution", "stagnated", ...
std::string remark(Outcome outcome);
std::string remark(const theory::Solution& solution);
std::string remark(const experiment::Comparison& comparison);

}  // namespace qklab::cli
