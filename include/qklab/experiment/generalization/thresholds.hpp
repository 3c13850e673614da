#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "qklab/core/progress.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/experiment/document/document.hpp"
#include "qklab/theory/thresholds/thresholds.hpp"

namespace qklab::experiment {

/// A threshold by closed formula beside the state evolution followed to it.
struct CheckedThreshold {
  theory::Threshold closed;
  std::optional<theory::FollowedThreshold> followed;

  /// |followed/closed - 1|; NaN where one is missing.
  double disagreement() const;
};

/// The thresholds of one point of a plan.
struct ThresholdPoint {
  Problem problem;
  CheckedThreshold interpolation;
  CheckedThreshold recovery;
  theory::Threshold bayes_recovery;
  double counting = 0;
  bool is_checked = false;  ///< whether the state evolution was followed
};

/// By closed formulas; the second also follows the state evolution, sampled by `seed`.
ThresholdPoint find_thresholds(const Problem& problem);
ThresholdPoint find_and_follow_thresholds(const Problem& problem, std::uint64_t seed);

/// The resolved problem without alpha and lambda, then interpolation_alpha, recovery_alpha,
/// bayes_recovery_alpha, each null with a *_reason where there is none, and counting_alpha; where checked
/// also
/// *_alpha_continuation and *_agreement.
Json to_json(const ThresholdPoint& point, std::uint64_t seed);

/// Test error of the minimiser at vanishing weight decay over alpha and kappa0.
struct ErrorField {
  std::vector<double> alpha;
  std::vector<double> kappa0;
  std::vector<std::vector<double>> value;  ///< one row for each kappa0; NaN: the target is recovered
};

/// Over the kappa0 of the points and `columns` values of alpha up to their largest threshold. Nothing where
/// ridgeless_student has no answer: noise, narrow or direct students.
std::optional<ErrorField> error_field(const std::vector<ThresholdPoint>& points, int columns,
                                      const StopToken& stop);

}  // namespace qklab::experiment
