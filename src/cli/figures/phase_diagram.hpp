#pragma once

#include <vector>

#include "qklab/core/progress.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/generalization/thresholds.hpp"

namespace qklab::cli {

/// Thresholds as curves in the plane of alpha and kappa0, over the test error at vanishing weight decay where
/// that is known.
experiment::Json phase_diagram(const experiment::Plan& plan,
                               const std::vector<experiment::ThresholdPoint>& points, const StopToken& stop);

}  // namespace qklab::cli
