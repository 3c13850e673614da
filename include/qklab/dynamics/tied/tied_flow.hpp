#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/core/progress.hpp"
#include "qklab/dynamics/population/symmetric_loss.hpp"
#include "qklab/dynamics/trajectory/trajectory.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::dynamics {

/// A tied student S = W W^T before it learns: W is d x p with iid N(0, c/d) entries.
struct TiedStart {
  double trace = 0.3;  ///< Tr S/d = c kappa, > 0
  double kappa = 1;    ///< width ratio p/d, > 0

  double entry_variance() const { return trace / kappa; }  ///< c
};

/// Throws InvalidParameter unless both are > 0 and finite.
TiedStart checked(TiedStart start);

struct FlowOptions {
  double weight_decay = 0;  ///< g >= 0: every step also takes (step size/d) g W from W
  double tolerance = 1e-9;  ///< of an integration step
  int max_steps = 100000;
  StopToken stop{};
};

/// The student at one time, in the eigenbasis of the teacher (docs/theory (10.48)-(10.50)).
struct TiedStudent {
  double time = 0;
  Eigen::ArrayXd profile;   ///< p(s): Tr S f(S0)/d = sum_i mass_i f(s_i) profile_i for every function f
  double overlap = 0;       ///< m
  double self_overlap = 0;  ///< q
  double trace = 0;         ///< t1

  // What its spectrum is made of: S = E W0 (I + W0^T F W0)^{-1} W0^T E.
  Eigen::ArrayXd teacher;     ///< s_i
  Eigen::ArrayXd masses;      ///< of the s_i
  Eigen::ArrayXd growth;      ///< kappa E^2(s_i) of the deterministic equivalent
  Eigen::ArrayXd restraint;   ///< G(s_i) = F/E^2
  double capacity = 0;        ///< kappa
  double entry_variance = 0;  ///< c
  double width_ratio = 0;     ///< p/d
};

struct TiedPath {
  std::vector<TiedStudent> students;  ///< one a time; fewer where the way ended before
  Outcome outcome = Outcome::converged;
  int steps = 0;
};

/// The flow of a tied student at vanishing step size, d -> infinity: solved exactly, by n + 1 scalar
/// differential equations for a teacher law of n atoms (docs/theory section 10.5.2).
///
/// `teacher`: the d eigenvalues of a given teacher (empirical_law), or few Gauss nodes of it
/// (tied_truncated.hpp). `loss` knows Q0, mostly moment(teacher, 2). Times: tau = step size * steps/d. The
/// result agrees with the flow of matrices up to fluctuations of order 1/d. Throws InvalidParameter for
/// arguments outside their domain.
TiedPath tied_path(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                   const std::vector<double>& times, const FlowOptions& options = {});

/// The same, as order parameters.
Trajectory tied_flow(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                     const std::vector<double>& times, const FlowOptions& options = {});

/// (m, q, t1) with the loss and the alignment there, nothing sampled in the overlaps.
TrajectoryPoint trajectory_point(const SymmetricLoss& loss, double time, double overlap, double self_overlap,
                                 double trace);

}  // namespace qklab::dynamics
