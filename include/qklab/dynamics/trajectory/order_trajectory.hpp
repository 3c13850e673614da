#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/dynamics/population/order_parameters.hpp"
#include "qklab/dynamics/trajectory/trajectory.hpp"

namespace qklab::dynamics {

/// One moment of learning of K students.
struct OrderPoint {
  double time = 0;             ///< tau = step size * steps/d
  OrderParameters parameters;  ///< of students, then teachers
  Eigen::VectorXd trace;       ///< Tr S_k/d of each of them
  Estimate loss;               ///< population loss Phi
};

/// Any number of students along the times that were asked for.
struct OrderTrajectory {
  std::vector<OrderPoint> points;  ///< one a time, in order; fewer where the way ended before
  /// stagnated: mu of uncentred scores was not on the critical manifold at some time.
  Outcome outcome = Outcome::converged;
  int steps = 0;  ///< that the integrator took
};

/// One student beside one of the teachers (both numbered from 0): m = Tr(S S0^T)/d, q = Tr(S S^T)/d. Throws
/// InvalidParameter when there is no such matrix.
Trajectory pair_trajectory(const OrderTrajectory& trajectory, Eigen::Index heads, Eigen::Index student,
                           Eigen::Index teacher);

}  // namespace qklab::dynamics
