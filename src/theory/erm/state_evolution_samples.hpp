#pragma once

#include <optional>

#include "qklab/theory/fixed_point/sampled_fixed_point.hpp"
#include "qklab/theory/fixed_point/solution.hpp"
#include "state_evolution_map.hpp"

namespace qklab::theory {

/// The state evolution on a large and on a small sample of the output side, for one problem after another:
/// the sampling points are kept as long as they serve.
class StateEvolutionSamples final : public SampledMap {
 public:
  explicit StateEvolutionSamples(const SolveOptions& options) : options_(options) {}

  /// Turns to a problem, on the first sample of its channel.
  void turn_to(const Problem& problem);
  /// Turns to another weight decay, on the same sample.
  void turn_to_weight_decay(double lambda);

  StateEvolutionMap& fine() { return *fine_; }
  StateEvolutionMap& coarse() { return *coarse_; }

  std::optional<Eigen::VectorXd> on_fine(const Eigen::VectorXd& x) override { return (*fine_)(x); }
  std::optional<Eigen::VectorXd> on_coarse(const Eigen::VectorXd& x) override { return (*coarse_)(x); }
  FixedPoint approach(const Eigen::VectorXd& start) override;
  double competing(const Eigen::VectorXd& x) override;
  void draw(int redraw) override;

 private:
  void retarget();

  SolveOptions options_;
  Problem problem_;
  std::optional<StateEvolutionMap> fine_;
  std::optional<StateEvolutionMap> coarse_;
  int redraw_ = 0;
};

}  // namespace qklab::theory
