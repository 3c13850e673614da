#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/dynamics/population/population_loss.hpp"
#include "qklab/dynamics/trajectory/order_trajectory.hpp"

namespace qklab::dynamics {

/// The weights of one student: S itself (direct), W (tied), U and V (untied).
struct StudentWeights {
  Eigen::MatrixXd first;
  Eigen::MatrixXd second;  ///< V of untied weights, else empty
};

/// S, S = W W^T or S = U V^T, d x d.
Eigen::MatrixXd student_matrix(Parametrization parametrization, const StudentWeights& weights);

/// Weights with iid N(0, start/p) entries, d x p: Tr W W^T/d = start, and the same for U and V. Direct: a
/// matrix with entries of variance start/d, Tr S S^T/d = start. A function of (seed, student).
StudentWeights gaussian_weights(Parametrization parametrization, int dimension, int width, double start,
                                std::uint64_t seed, std::uint64_t student = 0);

/// What becomes of Tr S of uncentred scores (no effect on centred ones).
enum class TraceScale {
  explicit_term,     ///< sqrt(d) dPhi/dmu I as it stands: what finite d does, stiff (steps of order 1/d)
  critical_manifold  ///< its limit: mu on the critical manifold, Tr S held by a multiplier (10.63)
};

struct MatrixFlowOptions {
  Parametrization parametrization = Parametrization::tied;
  TraceScale trace_scale = TraceScale::critical_manifold;
  double weight_decay = 0;  ///< g >= 0: - g W on the right of the flow
  double tolerance = 1e-6;  ///< of one step, relative to the root mean square entry
  int max_steps = 20000;
  StopToken stop{};
  /// Sees the matrices S_1..S_K at each of the times; may be empty.
  std::function<void(double time, std::span<const Eigen::MatrixXd> students)> observe{};
};

struct MatrixFlow {
  OrderTrajectory trajectory;
  std::vector<StudentWeights> weights;  ///< at the last time reached
};

/// Gradient flow of the population loss on d x d matrices (10.6): the reference for any model and
/// parametrization, exact up to the 1/d of its matrices. Time is tau = step size * steps/d. Cost: 3 (tied) to
/// 5 (untied) products of d x d matrices a student and evaluation, seven evaluations a step.
///
/// Throws InvalidParameter when weights or teachers are not those of the model, for tied weights under
/// uncentred scores (Tr S is of order d), and for options or times outside their domain.
MatrixFlow matrix_flow(const PopulationLoss& loss, const std::vector<StudentWeights>& start,
                       const std::vector<Eigen::MatrixXd>& teachers, const std::vector<double>& times,
                       const MatrixFlowOptions& options);

}  // namespace qklab::dynamics
