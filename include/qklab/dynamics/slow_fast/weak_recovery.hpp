#pragma once

#include <Eigen/Core>

#include "qklab/core/problem.hpp"
#include "qklab/dynamics/population/population_loss.hpp"

namespace qklab::dynamics {

/// Whether students find their teachers in a number of samples of order d^2 log d (step size of order
/// 1/log d), or d^2 at fixed step size: section 10.7.
struct WeakRecovery {
  /// g_kl, the coefficient of S0_l in the gradient of student k at the point given, symmetric parts of the
  /// teacher: d grad_{S_k} Phi = ... + g_kl S0_l. K x K0.
  Eigen::MatrixXd cross_gradient;
  Eigen::MatrixXd se;
  /// d/dtau of Tr(S_k S0_l)/d there, for teachers without trace (10.71), K x K0.
  Eigen::MatrixXd speed;
  bool recovers = false;  ///< some g_kl differs from zero by more than its error: escape at tau = O(1)
};

/// The verdict at order parameters of a start that knows nothing of the teachers (their overlaps with
/// students are taken as given: zero, or t1 t0 for tied weights and a teacher of trace t0). Uncentred scores
/// are judged at the critical mu that descent from the given one reaches. `trace` is Tr W W^T/d of tied
/// weights, (Tr U U^T
/// + Tr V V^T)/d of untied ones, without meaning for direct ones; one a student. Teachers are symmetric.
WeakRecovery weak_recovery(const PopulationLoss& loss, const OrderParameters& start,
                           Parametrization parametrization, const Eigen::VectorXd& trace);

}  // namespace qklab::dynamics
