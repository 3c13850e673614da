#include "qklab/experiment/comparison/theory_line.hpp"

#include <cmath>
#include <optional>

#include "qklab/experiment/comparison/point_solver.hpp"

namespace qklab::experiment {
namespace {

/// `steps` equal steps from one value to the next, both ends left out; equal ratios where both are positive.
std::vector<double> between(double from, double to, int steps) {
  std::vector<double> values;
  for (int k = 1; k < steps; ++k) {
    const double t = static_cast<double>(k) / steps;
    values.push_back(from > 0 && to > 0 ? from * std::pow(to / from, t) : from + t * (to - from));
  }
  return values;
}

int steps_between(const std::vector<double>& values, int line_points) {
  return static_cast<int>(
      std::ceil(static_cast<double>(line_points - 1) / static_cast<double>(values.size() - 1)));
}

bool is_continuous(const Plan& plan) {
  return !plan.axes.empty() && !is_whole_option(plan.axes.front().option);
}

Axis with_values_between(const Axis& axis, int steps) {
  Axis finer{axis.option, {axis.values.front()}};
  for (std::size_t i = 1; i < axis.values.size(); ++i) {
    for (double value : between(axis.values[i - 1], axis.values[i], steps)) finer.values.push_back(value);
    finer.values.push_back(axis.values[i]);
  }
  return finer;
}

}  // namespace

Plan with_values_between(const Plan& plan, int line_points) {
  if (!is_continuous(plan)) return plan;
  const Axis& axis = plan.axes.front();
  Plan finer;
  finer.at_best_lambda = plan.at_best_lambda;
  finer.axes = plan.axes;
  finer.axes.front() = with_values_between(axis, steps_between(axis.values, line_points));
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (!plan.starts_a_series(i)) continue;
    for (double value : finer.axes.front().values) {
      finer.points.push_back(with_option(plan.points[i], axis.option, value));
    }
  }
  return finer;
}

Curve with_theory_between(const Plan& plan, const std::vector<Comparison>& points, int line_points,
                          const theory::SolveOptions& options) {
  Curve as_it_is{plan, points};
  if (!is_continuous(plan)) return as_it_is;
  const auto& [option, values] = plan.axes.front();
  const int steps = steps_between(values, line_points);
  PointSolver solver(plan, options);
  Curve curve;
  curve.plan.at_best_lambda = plan.at_best_lambda;
  curve.plan.axes = plan.axes;
  curve.plan.axes.front() = with_values_between(plan.axes.front(), steps);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!plan.starts_a_series(i)) {
      const double from = option_value(points[i - 1].theory.problem, option);
      const double to = option_value(points[i].theory.problem, option);
      theory::Solution neighbour = points[i - 1].theory;
      for (double value : between(from, to, steps)) {
        if (options.stop.requested()) return as_it_is;
        neighbour = solver.solve(with_option(neighbour.problem, option, value), neighbour);
        curve.points.push_back({neighbour, {}, neighbour.outcome});
      }
    }
    curve.points.push_back(points[i]);
  }
  for (const Comparison& point : curve.points) curve.plan.points.push_back(point.theory.problem);
  return curve;
}

}  // namespace qklab::experiment
