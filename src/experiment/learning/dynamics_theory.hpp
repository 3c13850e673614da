#pragma once

#include <optional>

#include "qklab/channel/attention_indexed/attention_indexed.hpp"
#include "qklab/dynamics/population/symmetric_loss.hpp"

namespace qklab::experiment {

/// The loss of a symmetric pair that is this model's; nothing where there is none: correlated tokens, several
/// heads, scores that are not centred, other outputs.
std::optional<dynamics::SampleLoss> symmetric_sample_loss(const AttentionIndexedModel& model);

}  // namespace qklab::experiment
