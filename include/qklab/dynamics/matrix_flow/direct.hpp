#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/progress.hpp"
#include "qklab/dynamics/population/population_loss.hpp"
#include "qklab/dynamics/trajectory/order_trajectory.hpp"

namespace qklab::dynamics {

struct DirectOptions {
  double weight_decay = 0;   ///< g >= 0: - g S on the right of the flow
  double step_noise = 0;     ///< nu = step size * d/batch >= 0, the noise of finite steps
  bool symmetrised = false;  ///< steps use (gradient + gradient^T)/2, S stays symmetric
  double tolerance = 1e-7;   ///< of one step, absolute and relative
  int max_steps = 100000;
  StopToken stop{};
};

/// Order parameters of K students trained directly, the closed equations (10.41), (10.42).
///
/// `start` holds those of students and teachers at tau = 0, `trace` Tr S_k/d of all of them (zero where
/// scores are not centred). Uncentred scores: mu follows the critical manifold from the given one (10.62).
/// Ends early where the way diverges. Throws InvalidParameter for options or times outside their domain.
OrderTrajectory direct_flow(const PopulationLoss& loss, const OrderParameters& start,
                            const Eigen::VectorXd& trace, const std::vector<double>& times,
                            const DirectOptions& options = {});

}  // namespace qklab::dynamics
