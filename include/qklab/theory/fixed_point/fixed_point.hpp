#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>

#include "qklab/core/outcome.hpp"
#include "qklab/core/progress.hpp"

namespace qklab::theory {

/// A map F of R^k into itself; nothing where F is not defined.
using FixedPointMap = std::function<std::optional<Eigen::VectorXd>(const Eigen::VectorXd&)>;

struct FixedPointOptions {
  double tolerance = 1e-10;   ///< on the residual max_i |F(x)_i - x_i|
  int max_evaluations = 400;  ///< of the map
  int depth = 4;              ///< differences that Anderson acceleration remembers
  double max_step = 1.0;      ///< longest step in any coordinate
  StopToken stop{};
};

struct FixedPoint {
  Eigen::VectorXd x;    ///< the point of smallest residual that was seen
  double residual = 0;  ///< max_i |F(x)_i - x_i| there
  int evaluations = 0;
  Outcome outcome = Outcome::stagnated;
};

/// Solves F(x) = x by safeguarded Anderson acceleration (type II, regularised), and, where that stalls, by
/// Powell's hybrid method (MINPACK hybr) from the best point.
///
/// Judged by the residual of F itself, never by the length of a damped step. A step to a point where F is not
/// defined or the residual grows too much is taken back and shortened.
FixedPoint solve_fixed_point(const FixedPointMap& map, const Eigen::VectorXd& start,
                             const FixedPointOptions& options = {});

/// Solves F(x) = x from a good start and an approximate Jacobian of F, by Broyden's method: few evaluations
/// when the start is near. Gives up (stagnated) as soon as the residual fails to fall; then use
/// solve_fixed_point.
FixedPoint refine_fixed_point(const FixedPointMap& map, const Eigen::VectorXd& start,
                              const Eigen::MatrixXd& jacobian, const FixedPointOptions& options = {});

/// Jacobian of F at x by forward differences of the given step; `value` is F(x). Nothing where F is not
/// defined.
std::optional<Eigen::MatrixXd> jacobian(const FixedPointMap& map, const Eigen::VectorXd& x,
                                        const Eigen::VectorXd& value, double step);

}  // namespace qklab::theory
