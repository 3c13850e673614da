#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "qklab/dynamics/population/symmetric_loss.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"
#include "qklab/dynamics/trajectory/trajectory.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::dynamics {

/// Overlaps of K students and K0 teachers, students first.
struct HeadOverlaps {
  Eigen::MatrixXd products;  ///< Tr(S_k S_l)/d
  Eigen::VectorXd traces;    ///< Tr S_k/d
};

/// The drift of the tied weights of every student: dW_k/dtau = -(sum_l matrices(k, l) S_l + shifts(k)) W_k.
struct HeadDrift {
  Eigen::MatrixXd matrices;  ///< K x (K + K0)
  Eigen::VectorXd shifts;    ///< K: weight decay, and the trace part of uncentred scores
};

struct HeadPoint {
  double time = 0;
  HeadOverlaps overlaps;
};

struct HeadPath {
  std::vector<HeadPoint> points;  ///< one a time; fewer where the way ended before
  Outcome outcome = Outcome::converged;
  int steps = 0;
};

struct FockOptions {
  int order = 5;            ///< total degree at which the space is cut, >= 1
  double tolerance = 1e-7;  ///< of an integration step
  int max_steps = 20000;
  StopToken stop{};
};

/// Several tied heads, free of each other and of free teachers at the start, at vanishing step size: the flow
/// of matrices on the free product of their laws, cut at a total degree (docs/theory section 10.5.4).
///
/// Laws by their recurrence: wishart_coefficients for a Gaussian start, jacobi_coefficients for a teacher.
/// The cut keeps every S_k positive semidefinite, so that it converges at every time; errors fall 2 to 4
/// times an order at kappa = 1, where S starts with a hard edge at 0. Exact at the start; costs the cube of
/// (L^(order+1) - 1)/(L - 1), L = K + K0. Throws InvalidParameter for an order that is out of range or leads
/// to more than 4000 dimensions.
HeadPath fock_flow(const std::vector<JacobiCoefficients>& students,
                   const std::vector<JacobiCoefficients>& teachers,
                   const std::function<HeadDrift(const HeadOverlaps&)>& drift,
                   const std::vector<double>& times, const FockOptions& options = {});

/// One head and one teacher, which tied_flow solves without the cut.
Trajectory fock_flow(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start,
                     const std::vector<double>& times, const FockOptions& options = {},
                     double weight_decay = 0);

}  // namespace qklab::dynamics
