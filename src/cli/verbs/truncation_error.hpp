#pragma once

#include "cli/session/verb.hpp"
#include "qklab/experiment/learning/dynamics_plan.hpp"

namespace qklab::cli {

/// `dynamics --truncation-error`: how far each truncation of the plan strays from the exact flow.
Status measure_truncation_error(Session& session, const experiment::DynamicsPlan& plan);

}  // namespace qklab::cli
