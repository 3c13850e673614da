#pragma once

#include "cli/session/verb.hpp"
#include "qklab/experiment/learning/dynamics_plan.hpp"

namespace qklab::cli {

/// `dynamics --weak-recovery`: escape along d of every model and parametrization of the plan.
Status study_weak_recovery(Session& session, const experiment::DynamicsPlan& given);

}  // namespace qklab::cli
