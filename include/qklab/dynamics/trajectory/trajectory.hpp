#pragma once

#include <limits>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab::dynamics {

/// One moment of learning, of one student and one teacher. Standard errors are 0 where nothing is sampled.
struct TrajectoryPoint {
  double time = 0;        ///< tau = step size * steps/d
  Estimate overlap;       ///< m = Tr(S S0)/d
  Estimate self_overlap;  ///< q = Tr(S S^T)/d
  Estimate trace;         ///< t1 = Tr S/d
  Estimate loss;          ///< population loss Phi, no factor 1/2 in it (docs/theory section 10.2)
  Estimate alignment;     ///< m/sqrt(q Q0)
};

/// A student along the times that were asked for.
struct Trajectory {
  std::vector<TrajectoryPoint> points;  ///< one a time, in order; fewer where the way ended before
  Outcome outcome = Outcome::converged;
  int steps = 0;  ///< that the integrator took
  /// Last time at which a truncated theory is its own limit, as far as it can tell.
  double trusted_until = std::numeric_limits<double>::infinity();
};

}  // namespace qklab::dynamics
