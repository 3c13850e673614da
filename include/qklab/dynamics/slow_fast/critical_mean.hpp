#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/dynamics/population/population_loss.hpp"

namespace qklab::dynamics {

/// One moment of the fast phase.
struct MeanPoint {
  double time = 0;       ///< t = step size * steps
  Eigen::VectorXd mean;  ///< mu_k of the students
  Estimate loss;
};

struct MeanTrajectory {
  std::vector<MeanPoint> points;
  Outcome outcome = Outcome::converged;
};

/// Fast phase of uncentred scores (10.61): d mu_k/dt = -rate_k dPhi/dmu_k at frozen overlaps, t = step size *
/// steps. `rates` are (Tr U U^T + Tr V V^T)/d of each student for untied weights, 1 for direct ones. Times
/// must ascend from 0. Throws InvalidParameter for a centred model.
MeanTrajectory fast_phase(const PopulationLoss& loss, const OrderParameters& start,
                          const Eigen::VectorXd& rates, const std::vector<double>& times);

/// A point of the critical manifold dPhi/dmu = 0.
struct CriticalMean {
  OrderParameters parameters;  ///< those given, with the students' mu there
  LossGradient gradient;       ///< there
  Outcome outcome = Outcome::converged;
};

/// The minimum of Phi over the students' mu that descent from the given mu reaches (10.62), by damped Newton
/// steps to 1e-10 of the curvature. A centred model is returned as it is.
CriticalMean critical_mean(const PopulationLoss& loss, const OrderParameters& start);

}  // namespace qklab::dynamics
