#include "uniqueness.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace qklab {
namespace {

/// The entries of one point's label.
struct LabelOfPoint {
  double operator[](int entry) const { return first[static_cast<std::size_t>(entry) * stride]; }
  const double* first;
  int stride;
};

constexpr double kThirdCumulant = 0.7698003589195011;  // 8/(6 sqrt 3)

/// Condition 1: largest spread of p - y on the segment to any point that is as good.
double spread_on_segment(double beta, double susceptibility, const FoundMinimum& found) {
  const double loss = std::max(0.0, found.objective - 0.5 * found.distance);
  const double length =
      std::sqrt(susceptibility) * (std::sqrt(found.distance) + std::sqrt(2 * found.objective));
  return 0.5 * (std::sqrt(2 * loss) + std::sqrt(2 * found.objective) + beta * length);
}

/// Condition 2: bound on the negative curvature over beta^2, infinite when the ratios are not confined.
double curvature_from_ratios(int tokens, const LabelOfPoint& label, double objective) {
  double largest = 0;
  for (int a = 0; a < tokens; ++a) {
    double top = -INFINITY;
    double excess = -1;
    for (int b = 0; b < tokens; ++b) {
      const double y = label[a * tokens + b];
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

/// Scalar products of the gradients of the two logit gaps over beta, in coordinates where the quadratic term
/// is isotropic.
struct GapGradients {
  double square;
  double product;
};

/// Largest eigenvalue of c_u grad u grad u^T + c_v grad v grad v^T.
double curvature_of_box(const LabelOfPoint& label, const GapGradients& gradients, double objective) {
  const double reach = std::sqrt(objective / 2);
  const double u = curvature_of_gap(0.5 * (1 + label[0] - label[1]), reach);
  const double v = curvature_of_gap(0.5 * (1 + label[3] - label[2]), reach);
  const double split = gradients.square * (u - v);
  return 2 * (gradients.square * (u + v) +
              std::sqrt(split * split + 4 * gradients.product * gradients.product * u * v));
}

bool is_only_minimum(const Channel& channel, double susceptibility, const GapGradients& gradients,
                     const LabelOfPoint& label, const FoundMinimum& found) {
  const double square = channel.beta * channel.beta;
  if (channel.tokens == 2) return square * curvature_of_box(label, gradients, found.objective) < 1;
  const double scale = susceptibility * square;
  if (scale * kThirdCumulant * spread_on_segment(channel.beta, susceptibility, found) < 1) return true;
  return scale * curvature_from_ratios(channel.tokens, label, found.objective) < 1;
}

}  // namespace

bool is_only_minimum(const Channel& channel, double susceptibility, const PointRows& label, int point,
                     const FoundMinimum& found) {
  return is_only_minimum(channel, susceptibility, {3 * susceptibility, susceptibility},
                         {label.row(0) + point, label.stride()}, found);
}

bool is_only_minimum(const Channel& channel, const UntiedSusceptibilities& susceptibilities,
                     const double* label, const FoundMinimum& found) {
  const auto [symmetric, antisymmetric] = susceptibilities;
  return is_only_minimum(channel, std::max(symmetric, antisymmetric),
                         {3 * symmetric + antisymmetric, std::abs(symmetric - antisymmetric)}, {label, 1},
                         found);
}

}  // namespace qklab
