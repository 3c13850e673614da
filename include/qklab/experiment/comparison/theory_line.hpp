#pragma once

#include <vector>

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/description/plan.hpp"

namespace qklab::experiment {

/// Points along the first axis of a plan, some of them without trained runs.
struct Curve {
  Plan plan;
  std::vector<Comparison> points;
};

/// The plan with more values of its first axis in between, at least `line_points` of them, spaced
/// geometrically where they are positive; as it is when the axis holds whole numbers or there is none.
Plan with_values_between(const Plan& plan, int line_points);

/// The finished points of a plan with theory alone solved in between, so that its line is smooth: at least
/// `line_points` values of the first axis, spaced geometrically where its values are positive. As they are
/// when the axis holds whole numbers, when there is none, or when a stop was requested.
Curve with_theory_between(const Plan& plan, const std::vector<Comparison>& points, int line_points,
                          const theory::SolveOptions& options);

}  // namespace qklab::experiment
