#pragma once

#include <string>
#include <vector>

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/experiment/generalization/scaling_study.hpp"
#include "qklab/theory/generalization/decomposition.hpp"
#include "qklab/theory/generalization/weight_decay.hpp"

namespace qklab::cli {

/// A point with the parts of its test error.
struct SplitPoint {
  experiment::Comparison point;
  theory::Decomposition split;
};

/// Parts of the test error, each weighted by its slope, along the first axis of the plan.
experiment::Json decomposition_figure(const experiment::Plan& plan, const std::vector<SplitPoint>& points);

/// A weight decay found, beside the solution at the given one.
struct TunedPoint {
  theory::BestWeightDecay best;
  theory::Solution given;
  std::vector<experiment::Comparison> trained;  ///< at weight decays around the best
};

/// Test error against weight decay, a series for each point of the plan.
experiment::Json weight_decay_figure(const experiment::Plan& plan, const std::vector<TunedPoint>& points);

/// Excess error, local exponents, recovered modes and, for a single series, the emergence of each mode.
experiment::Json scaling_figure(const experiment::Plan& plan,
                                const std::vector<experiment::ScalingStudy>& studies);

}  // namespace qklab::cli
