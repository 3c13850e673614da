#pragma once

#include <Eigen/Core>
#include <memory>

#include "qklab/channel/attention_indexed/attention_indexed.hpp"
#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/dynamics/population/order_parameters.hpp"

namespace qklab::dynamics {

/// Coefficients that stand before S_l (`transposed`) and S_l^T (`product`) for each student k, K x P or K x
/// K.
struct PairCoefficients {
  Eigen::MatrixXd transposed;
  Eigen::MatrixXd product;
};

/// Population loss and its gradient with respect to each student (10.4):
/// d grad_{S_k} Phi = sqrt(d) mean_k I + sum_l (slope.transposed_kl S_l + slope.product_kl S_l^T).
struct LossGradient {
  Estimate loss;         ///< Phi, label noise included
  Eigen::VectorXd mean;  ///< dPhi/dmu_k, K values
  Eigen::VectorXd mean_se;
  Eigen::MatrixXd mean_curvature;  ///< d^2 Phi/dmu_k dmu_k', K x K
  PairCoefficients slope;          ///< K x P
  PairCoefficients slope_se;       ///< standard errors of `slope`
  PairCoefficients noise;          ///< k1 and k2 of (10.8), K x K
};

/// Population loss Phi = E l of an attention-indexed model as a function of its order parameters, for scores
/// that are jointly Gaussian (docs/theory section 10.2).
///
/// The points are fixed at construction: all results are deterministic, smooth functions of the order
/// parameters. Where at most two directions are seen in all (single index, denoising) expectations are sums
/// over a grid, to about 1e-10 while beta times the size of a score is below 5; else scrambled Sobol points
/// with standard errors over scramblings.
class PopulationLoss {
 public:
  /// How slopes are taken: as means of second derivatives (Price; bounded everywhere), or of first
  /// derivatives times the Gaussian (Stein; of use far from alignment, where a pseudo-inverse of the
  /// covariance does no harm).
  enum class Slopes { second_derivatives, first_derivatives };

  /// Throws InvalidParameter for a model or option outside its domain.
  explicit PopulationLoss(const AttentionIndexedModel& model,
                          const QmcOptions& qmc = {.log2_points = 13, .scramblings = 8, .seed = 1},
                          Slopes slopes = Slopes::second_derivatives);
  ~PopulationLoss();
  PopulationLoss(PopulationLoss&&) noexcept;
  PopulationLoss& operator=(PopulationLoss&&) noexcept;

  /// Throws InvalidParameter unless `parameters` are those of K + K0 matrices, finite.
  LossGradient evaluate(const OrderParameters& parameters) const;

  const AttentionIndexedModel& model() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Mean and covariance of all scores, students' first (Theorem 1 of the source, (10.2)).
struct ScoreGaussian {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};
ScoreGaussian score_gaussian(const AttentionIndexedModel& model, const OrderParameters& parameters);

}  // namespace qklab::dynamics
