#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/dynamics/critical_mean.hpp"
#include "qklab/dynamics/matrix_flow.hpp"
#include "qklab/dynamics/weak_recovery.hpp"

namespace qklab::dynamics {

/// Both phases of untied weights under uncentred scores (docs/theory section 10.6).
struct UntiedFlow {
  MeanTrajectory fast;    ///< mu(t) at frozen overlaps, t = step size * steps
  CriticalMean critical;  ///< where it ends
  WeakRecovery recovery;  ///< the verdict there
  MatrixFlow slow;        ///< from there on the critical manifold, tau = t/d
};

/// Follows mu through `fast_times`, then the weights through `times`. Teachers are symmetric. `options` are
/// those of the slow flow; its parametrization and trace scale are set here. Throws like matrix_flow(), and
/// InvalidParameter for a centred model.
UntiedFlow untied_flow(const PopulationLoss& loss, const std::vector<StudentWeights>& start,
                       const std::vector<Eigen::MatrixXd>& teachers, const std::vector<double>& fast_times,
                       const std::vector<double>& times, MatrixFlowOptions options = {});

}  // namespace qklab::dynamics
