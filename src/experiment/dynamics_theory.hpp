#pragma once

#include <optional>

#include "qklab/dynamics/symmetric_loss.hpp"
#include "qklab/experiment/dynamics.hpp"

namespace qklab::experiment {

/// The loss of a symmetric pair that is this model's; nothing where there is none: correlated tokens, several
/// heads, scores that are not centred, other outputs.
std::optional<dynamics::SampleLoss> symmetric_sample_loss(const AttentionIndexedModel& model);

/// A theory along `times`, without escapes.
MethodRun follow_theory(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
                        const std::vector<double>& times);

}  // namespace qklab::experiment
