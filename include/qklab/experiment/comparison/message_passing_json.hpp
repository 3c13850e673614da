#pragma once

#include <vector>

#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/comparison/message_passing.hpp"

namespace qklab::experiment {

/// One object an iterate: iteration, the values of `axes` at the point, overlap, self_overlap,
/// susceptibility, test_error, train_loss with their errors over runs, residual, damping, and predicted_*
/// beside them. The last object has "final": true, the resolved problem, the last iterates beside the fixed
/// point as predicted_*, the deviation of each in standard errors, and what each run did.
std::vector<Json> to_json_lines(const MessagePassing& point, const MessagePassingOptions& options,
                                const std::vector<Axis>& axes);

}  // namespace qklab::experiment
