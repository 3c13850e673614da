#include "uniqueness.hpp"

#include <algorithm>
#include <cmath>

namespace qklab {
namespace {

constexpr double kThirdCumulant = 0.7698003589195011;  // 8/(6 sqrt 3)

/// Condition 1: largest spread of p - y on the segment to any point that is as good.
double spread_on_segment(double beta, double susceptibility, const FoundMinimum& found) {
  const double moved = susceptibility * found.residual_square;  // |e* - w|^2/V
  const double loss = std::max(0.0, found.objective - 0.5 * moved);
  const double length = std::sqrt(susceptibility) * (std::sqrt(moved) + std::sqrt(2 * found.objective));
  return 0.5 * (std::sqrt(2 * loss) + std::sqrt(2 * found.objective) + beta * length);
}

/// Condition 2: bound on the negative curvature over beta^2, infinite when the ratios are not confined.
double curvature_from_ratios(int tokens, const PointRows& label, int point, double objective) {
  double largest = 0;
  for (int a = 0; a < tokens; ++a) {
    double top = -INFINITY;
    double excess = -1;
    for (int b = 0; b < tokens; ++b) {
      const double y = label.row(a * tokens + b)[point];
      top = std::max(top, y);
      excess += y;
    }
    largest = std::max(largest, top - excess / tokens);
  }
  const double reach = std::sqrt(objective * (tokens - 1) / tokens);
  const double drift = (tokens - 2) * reach;
  if (drift >= 1) return INFINITY;
  const double spread = reach * (1 + (tokens - 2) * largest) * (1 / (1 - drift) + 1 / (1 + drift));
  return std::min(kThirdCumulant * spread, tokens * spread * spread);
}

/// Condition 3: bound on minus the second derivative of 2 (s - a)^2 in its logit over 4.
double curvature_of_gap(double label, double reach) {
  const double low = std::max(0.0, label - reach);
  const double high = std::min(1.0, label + reach);
  const double least = std::max(0.0, std::min(low * (1 - low), high * (1 - high)));
  const double worst = reach / (2 * (1 + 2 * reach));
  if (least < worst) return 0.5 * reach * worst;
  return std::max(0.0, least * (reach - (1 + 2 * reach) * least));
}

/// Largest eigenvalue of c_u grad u grad u^T + c_v grad v grad v^T; the gradients of the logit gaps have
/// square 3 and product 1 in white coordinates.
double curvature_of_box(const PointRows& label, int point, double objective) {
  const double reach = std::sqrt(objective / 2);
  const double u = curvature_of_gap(0.5 * (1 + label.row(0)[point] - label.row(1)[point]), reach);
  const double v = curvature_of_gap(0.5 * (1 + label.row(3)[point] - label.row(2)[point]), reach);
  return 4 * (1.5 * (u + v) + 0.5 * std::sqrt(9 * (u - v) * (u - v) + 4 * u * v));
}

}  // namespace

bool is_only_minimum(const Channel& channel, double susceptibility, const PointRows& label, int point,
                     const FoundMinimum& found) {
  const double scale = susceptibility * channel.beta * channel.beta;
  if (channel.tokens == 2) return scale * curvature_of_box(label, point, found.objective) < 1;
  if (scale * kThirdCumulant * spread_on_segment(channel.beta, susceptibility, found) < 1) return true;
  return scale * curvature_from_ratios(channel.tokens, label, point, found.objective) < 1;
}

}  // namespace qklab
