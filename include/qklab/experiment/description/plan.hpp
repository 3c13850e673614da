#pragma once

#include <string>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/experiment/description/description.hpp"

namespace qklab::experiment {

/// The options that state a problem (the shared options of every verb).
std::vector<Option> problem_options();

/// An option that was given more than one value; a parametrization counts by its place in the enumeration.
struct Axis {
  std::string option;
  std::vector<double> values;
};

/// The points of a grid, every one checked.
struct Plan {
  std::vector<Problem> points;  ///< first axis fastest
  std::vector<Axis> axes;       ///< in the order of problem_options(): alpha, if it varies, is the first
  /// Each point is meant at the weight decay that minimises its predicted test error (lambda = best).
  bool at_best_lambda = false;

  /// True where the first axis starts again, so that the point before is no neighbour.
  bool starts_a_series(std::size_t point) const;

  /// All axes but the first, which tell one series from another.
  std::vector<Axis> further_axes() const;
};

/// The Cartesian product of the values of all numeric options; alpha varies fastest, then the others in the
/// order of problem_options().
///
/// Every point is checked before the first is returned. Throws InvalidParameter for a value outside its
/// domain, for an option that has no effect with the chosen teacher or activation, and for more than 10^5
/// points; FileError for an unreadable spectrum.
Plan plan(const Description& description);

/// The teacher that the options teacher, kappa0, gamma and modes describe, with one value each. Throws
/// InvalidParameter for an option that has no effect with it, FileError for an unreadable spectrum.
Teacher teacher_of(const Description& description);

/// The value of a numeric option (a name of problem_options()) at a point.
double option_value(const Problem& problem, const std::string& option);

/// The problem with another value of a numeric option, checked.
Problem with_option(Problem problem, const std::string& option, double value);

/// True for numeric options that take whole numbers only.
bool is_whole_option(const std::string& option);

}  // namespace qklab::experiment
