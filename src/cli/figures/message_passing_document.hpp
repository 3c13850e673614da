#pragma once

#include <vector>

#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/comparison/message_passing.hpp"
#include "qklab/experiment/description/plan.hpp"

namespace qklab::cli {

/// Test error, overlap and self-overlap along the iterations, a series for each point: the state evolution as
/// a line, the runs as points.
experiment::Json message_passing_figure(const experiment::Plan& plan,
                                        const std::vector<experiment::MessagePassing>& points);

}  // namespace qklab::cli
