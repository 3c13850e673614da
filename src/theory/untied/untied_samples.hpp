#pragma once

#include <optional>

#include "qklab/theory/fixed_point/sampled_fixed_point.hpp"
#include "qklab/theory/untied/untied.hpp"
#include "untied_map.hpp"

namespace qklab::theory {

/// The state evolution of untied students on a large and on a small sample of both its sides.
class UntiedSamples final : public SampledMap {
 public:
  UntiedSamples(const Problem& problem, const UntiedOptions& options);

  /// Turns to another weight decay, on the same sample.
  void turn_to_weight_decay(double lambda);

  UntiedMap& fine() { return fine_; }
  UntiedMap& coarse() { return coarse_; }

  std::optional<Eigen::VectorXd> on_fine(const Eigen::VectorXd& x) override { return fine_(x); }
  std::optional<Eigen::VectorXd> on_coarse(const Eigen::VectorXd& x) override { return coarse_(x); }
  FixedPoint approach(const Eigen::VectorXd& start) override;
  double competing(const Eigen::VectorXd& x) override;
  /// The large sample alone: the small one gives no more than a start and slopes.
  void draw(int redraw) override;

 private:
  Problem problem_;
  UntiedOptions options_;
  UntiedMap fine_;
  UntiedMap coarse_;
};

}  // namespace qklab::theory
