#pragma once

#include <optional>

#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/generalization/scaling_study.hpp"
#include "qklab/theory/generalization/decomposition.hpp"
#include "qklab/theory/generalization/weight_decay.hpp"

namespace qklab::experiment {

/// The solution with the parts of its test error, its modes (at most `most_modes`), and, where models were
/// trained, the parts of those; nothing of it where the point has no answer.
Json decomposition_json(const Comparison& point, const std::optional<theory::Decomposition>& split,
                        const CompareOptions& options, int most_modes);

/// The solution at the best weight decay, what it gains over the given one, its flat range and the curve.
Json weight_decay_json(const theory::BestWeightDecay& best, const theory::Solution& given,
                       const theory::SolveOptions& options);

/// The points along n with local exponents and modes, the fitted and the predicted exponent.
Json scaling_json(const ScalingStudy& study, const theory::SolveOptions& options);

}  // namespace qklab::experiment
