#pragma once

#include <Eigen/Core>
#include <vector>

#include "qklab/dynamics/population/symmetric_loss.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"
#include "qklab/spectra/law.hpp"
#include "tied_equivalent.hpp"

namespace qklab::dynamics {

struct NoisyOverlaps {
  double overlap = 0;
  double self_overlap = 0;
  double trace = 0;
};

/// Follows a tied student with finite-step noise from grid time to grid time, tau_j = j step (docs/theory
/// (10.56), (10.57)).
///
/// With R = (y + S^{-1})^{-1}, y and P = E[R | S0] functions of S0, a characteristic obeys
///   dy/ds = -a + L y - e (<y> - <y^2 P>) + e <P> y^2,
///   dP/ds = -L P - 2 e <P> y P + e <P>,   L = 2 b s + 2 g + 2 e <y P>,
/// and ends at y(tau_j) = 0 with P = E[S | S0]; its start is the deterministic equivalent of the first S at
/// F = y(0). The answer to a small y(tau_j) gives q = -d<P>/dy.
class Characteristics {
 public:
  Characteristics(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start, double nu,
                  double weight_decay, double step, int intervals);

  /// The student at the next grid time; false where there is none.
  bool advance();

  /// At all grid times so far, 0 first.
  const std::vector<NoisyOverlaps>& overlaps() const { return overlaps_; }

 private:
  /// One characteristic and its linear response, on the grid: rows are atoms of the teacher.
  struct Way {
    Eigen::ArrayXXd y, P, dy, dP;
  };
  /// Averages over the teacher along the characteristic; d: of the response.
  struct Averages {
    Eigen::ArrayXd yP, P, y_rest, d_yP, d_P, d_y_rest;  ///< y_rest = <y> - <y^2 P>
  };

  Averages extrapolated() const;
  /// The way at given averages; false where there is none.
  bool follow(const Averages& of);
  Averages measured() const;
  void set_drift(int at, const NoisyOverlaps& overlaps);
  NoisyOverlaps end_of_way() const;

  const SymmetricLoss& loss_;
  Eigen::ArrayXd teacher_;
  Eigen::RowVectorXd masses_;
  double nu_;
  double shrink_;
  double step_;
  int reached_ = 0;
  TiedEquivalent start_;
  Eigen::ArrayXd a_, b_, e_;  ///< at grid times up to the one reached
  Way way_;
  Averages last_, before_last_;
  Eigen::ArrayXXd before_y_;
  std::vector<NoisyOverlaps> overlaps_;
};

}  // namespace qklab::dynamics
