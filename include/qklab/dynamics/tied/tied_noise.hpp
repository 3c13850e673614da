#pragma once

#include <vector>

#include "qklab/dynamics/population/symmetric_loss.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"
#include "qklab/dynamics/trajectory/trajectory.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::dynamics {

struct NoisyFlowOptions {
  double weight_decay = 0;   ///< g >= 0, as in FlowOptions
  double tolerance = 1e-4;   ///< on m, q and t1 at every time
  int max_intervals = 1024;  ///< of the grid of times, >= 16
  StopToken stop{};
};

/// The tied student under online descent of finite step: nu = step size * d/batch of order 1, d -> infinity.
///
/// The noise of the gradient turns the flow into dW = drift - sqrt(nu kN) dX W with X a free Brownian motion;
/// order parameters stay deterministic. Their law is a quasi-linear equation for the resolvent of S^{-1} over
/// the algebra of S0, solved along its characteristics: exact, no matrix, no sampling (docs/theory section
/// 10.5.5). The way to each time is a boundary value problem over all times before it, so that cost grows
/// with the square of the number of intervals; the grid is refined until two grids agree to `tolerance`.
///
/// The teacher's law is held by at most 24 Gauss nodes. nu = 0 gives tied_flow. Outcomes: stagnated when the
/// finest grid is not fine enough (the values are those of it), diverged when the noise blows up, as
/// with polynomial activations at moderate nu, or the way to a time is not found (points up to there). Throws
/// InvalidParameter for arguments outside their domain.
Trajectory tied_flow_with_noise(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                                double nu, const std::vector<double>& times,
                                const NoisyFlowOptions& options = {});

}  // namespace qklab::dynamics
