#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gaussian_grid.hpp"
#include "loss_form.hpp"

namespace qklab::dynamics {
namespace {

/// Row a of the softmax of two tokens is (s, 1 - s), s the logistic function of beta times the gap D_a = h_aa
/// - h_ab, of variance 3q; the two gaps have correlation 1/3.
constexpr double gap_variance = 3;
constexpr double gap_correlation = 1.0 / 3;

/// The gap of one row in white coordinates: D0 = width0 z0, D = slope z0 + rest z1, times beta.
struct Gaps {
  double width0 = 0;
  double slope = 0;
  double rest = 0;
};

class PairedSoftmaxForm final : public SymmetricLoss::Form {
 public:
  explicit PairedSoftmaxForm(double beta) : beta_(beta) {}

  LossSlopes slopes(const PairOverlaps& overlaps) const override;
  double noise_strength(const PairOverlaps& overlaps) const override;

 private:
  Gaps gaps(const PairOverlaps& overlaps) const;

  double beta_;
};

GaussianGrid grid_for(const Gaps& gaps);
Eigen::ArrayXd sigmoid(const Eigen::ArrayXd& x);

}  // namespace

std::unique_ptr<SymmetricLoss::Form> paired_softmax_form(double beta) {
  return std::make_unique<PairedSoftmaxForm>(beta);
}

namespace {

/// Phi = 4 E (s - s0)^2, Phi_q = 12 E[s'^2 + (s - s0) s''], Phi_m = -24 E s' s0'.
LossSlopes PairedSoftmaxForm::slopes(const PairOverlaps& overlaps) const {
  const Gaps g = gaps(overlaps);
  const GaussianGrid grid = grid_for(g);
  const Eigen::ArrayXd s0 = sigmoid(g.width0 * grid.nodes);
  const Eigen::Index middle = grid.nodes.size() / 2;
  double square = 0;
  double curvature = 0;
  double cross = 0;
  // (z0, z1) -> (-z0, -z1) maps s to 1 - s and leaves all three means as they are.
  for (Eigen::Index i = 0; i <= middle; ++i) {
    const Eigen::ArrayXd s = sigmoid(g.slope * grid.nodes[i] + g.rest * grid.nodes);
    const Eigen::ArrayXd slope = s * (1 - s);
    const Eigen::ArrayXd gap = s - s0[i];
    const double weight = (i < middle ? 2 : 1) * grid.weights[i];
    square += weight * (grid.weights * gap.square()).sum();
    curvature += weight * (grid.weights * slope * (slope + gap * (1 - 2 * s))).sum();
    cross += weight * s0[i] * (1 - s0[i]) * (grid.weights * slope).sum();
  }
  const double square_beta = beta_ * beta_;
  return {
      {4 * square, 0}, -8 * gap_variance * square_beta * cross, 4 * gap_variance * square_beta * curvature};
}

/// With the slope l_D = 4 (s - s0) s' of a row, Delta_aa = 2 l_D and Delta_12 = Delta_21 = -(l_D1 + l_D2):
/// kN = 12 E l_D^2 + 4 E l_D1 l_D2. The white coordinates of the two rows are correlated one by one.
double PairedSoftmaxForm::noise_strength(const PairOverlaps& overlaps) const {
  const Gaps g = gaps(overlaps);
  const GaussianGrid grid = grid_for(g);
  const Eigen::Index size = grid.nodes.size();
  const Eigen::ArrayXd s0 = sigmoid(g.width0 * grid.nodes);
  Eigen::MatrixXd force(size, size);
  double square = 0;
  for (Eigen::Index i = 0; i < size; ++i) {
    const Eigen::ArrayXd s = sigmoid(g.slope * grid.nodes[i] + g.rest * grid.nodes);
    force.col(i) = 4 * beta_ * (s - s0[i]) * s * (1 - s);
    square += grid.weights[i] * (grid.weights * force.col(i).array().square()).sum();
  }
  const Eigen::MatrixXd weights = correlated_weights(grid, gap_correlation);
  const double product = (force.transpose() * weights * force).cwiseProduct(weights).sum();
  return 12 * square + 4 * product;
}

Gaps PairedSoftmaxForm::gaps(const PairOverlaps& overlaps) const {
  const double width0 = std::sqrt(gap_variance * overlaps.teacher);
  return {beta_ * width0, beta_ * gap_variance * overlaps.overlap / width0,
          beta_ * std::sqrt(gap_variance * overlaps.orthogonal)};
}

/// The logistic function has its poles at i pi.
GaussianGrid grid_for(const Gaps& gaps) {
  constexpr double log_error = 34;
  constexpr double widest_step = 0.7;
  constexpr double narrowest_step = 2e-3;  // 12 digits up to beta sqrt(q) of about 150
  constexpr double reach = 8;
  const double width = std::max({gaps.width0, std::abs(gaps.slope), gaps.rest});
  const double step = 2 * std::numbers::pi * std::numbers::pi / (log_error * std::max(width, 1e-3));
  return {std::clamp(step, narrowest_step, widest_step), reach};
}

Eigen::ArrayXd sigmoid(const Eigen::ArrayXd& x) {
  return 1 / (1 + (-x).exp());
}

}  // namespace
}  // namespace qklab::dynamics
