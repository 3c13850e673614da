#include "qklab/theory/fixed_point/sampled_fixed_point.hpp"

#include <algorithm>
#include <cstdint>

namespace qklab::theory {

FixedPoint SampledFixedPoint::find(const Eigen::VectorXd& start) {
  FixedPoint point = find_on_sample(start);
  while (redraws_ < most_redraws && straddles_a_jump(point)) {
    map_.draw(++redraws_);
    point = find_on_sample(point.x);
  }
  return point;
}

/// The fixed point and the Jacobian on the small sample make the large one a matter of a few steps.
FixedPoint SampledFixedPoint::find_on_sample(const Eigen::VectorXd& start) {
  const auto on_coarse = [this](const Eigen::VectorXd& x) { return map_.on_coarse(x); };
  const auto on_fine = [this](const Eigen::VectorXd& x) { return map_.on_fine(x); };
  FixedPoint coarse = map_.approach(start);
  evaluations_ += coarse.evaluations;
  if (!is_answer(coarse.outcome)) return coarse;

  FixedPointOptions goal{
      .tolerance = search_.tolerance, .max_evaluations = search_.max_evaluations, .stop = search_.stop};
  FixedPoint fine{coarse.x, coarse.residual, 0, Outcome::stagnated};
  if (const auto value = on_coarse(coarse.x)) {
    if (const auto slope = jacobian(on_coarse, coarse.x, *value, 1e-4)) {
      fine = refine_fixed_point(on_fine, coarse.x, *slope, goal);
    }
  }
  evaluations_ += fine.evaluations;
  if (fine.outcome == Outcome::stagnated) {
    goal.max_evaluations = search_.max_further;
    fine = solve_fixed_point(on_fine, fine.x, goal);
    evaluations_ += fine.evaluations;
  }
  return fine;
}

bool SampledFixedPoint::straddles_a_jump(const FixedPoint& point) {
  if (is_answer(point.outcome) || point.residual > near || search_.stop.requested()) return false;
  return map_.competing(point.x) > 0;
}

QmcOptions coarse_sampling(const QmcOptions& fine) {
  QmcOptions coarse = fine;
  coarse.log2_points = std::max(8, fine.log2_points - 3);
  coarse.scramblings = 2;
  return coarse;
}

QmcOptions redrawn(const QmcOptions& qmc, int redraw) {
  QmcOptions other = qmc;
  other.seed += static_cast<std::uint64_t>(redraw) << 32;
  return other;
}

}  // namespace qklab::theory
