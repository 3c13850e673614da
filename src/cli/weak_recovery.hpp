#pragma once

#include "qklab/experiment/dynamics_plan.hpp"
#include "verb.hpp"

namespace qklab::cli {

/// `dynamics --weak-recovery`: escape along d of every model and parametrization of the plan.
Status study_weak_recovery(Session& session, const experiment::DynamicsPlan& plan);

}  // namespace qklab::cli
