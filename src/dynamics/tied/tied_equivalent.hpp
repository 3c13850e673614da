#pragma once

#include <Eigen/Core>
#include <cmath>

namespace qklab::dynamics {

/// Deterministic equivalent of S = E W0 (I + W0^T F W0)^{-1} W0^T E for W0 d x p with iid N(0, c/d) entries,
/// E and F functions of S0 (docs/theory (10.49), (10.50)). Written in G = F/E^2 and log E^2, since F
/// overflows.
class TiedEquivalent {
 public:
  /// Eigenvalues of the teacher with their masses; c and p/d of the start.
  TiedEquivalent(Eigen::ArrayXd teacher, Eigen::ArrayXd masses, double entry_variance, double width_ratio);

  /// Solves at (log E^2, G); starts from the last solution. False where there is none, and then nothing
  /// below has a meaning.
  bool solve(const Eigen::ArrayXd& log_square, const Eigen::ArrayXd& restraint);

  const Eigen::ArrayXd& profile() const { return profile_; }   ///< p(s_i)
  const Eigen::ArrayXd& growth() const { return growth_; }     ///< kappa E^2
  double capacity() const { return std::exp(log_capacity_); }  ///< kappa
  double overlap() const { return (masses_ * teacher_ * profile_).sum(); }
  double trace() const { return (masses_ * profile_).sum(); }
  double self_overlap() const { return -(masses_ * response(Eigen::ArrayXd::Ones(teacher_.size()))).sum(); }
  /// Change of the profile when G changes by `restraint`, to first order.
  Eigen::ArrayXd response(const Eigen::ArrayXd& restraint) const;

 private:
  double softness() const;  ///< c <u/(1 + u)^2>

  Eigen::ArrayXd teacher_;
  Eigen::ArrayXd masses_;
  double entry_variance_;
  double width_ratio_;
  double log_capacity_;  ///< log kappa
  Eigen::ArrayXd growth_;
  Eigen::ArrayXd load_;  ///< 1 + u, u = kappa F
  Eigen::ArrayXd profile_;
};

}  // namespace qklab::dynamics
