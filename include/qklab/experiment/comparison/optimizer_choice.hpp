#pragma once

#include "qklab/core/problem.hpp"
#include "qklab/lab/training/train.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::experiment {

/// The options with `automatic` replaced by an optimizer: amp where the solution is an answer and stable, so
/// that message passing converges at high dimension, and where it takes the problem; else lbfgs.
lab::TrainOptions with_optimizer(lab::TrainOptions options, const theory::Solution& solution);

/// The same where no solution is at hand: solves the theory, roughly, only if that can make a difference.
lab::TrainOptions with_optimizer(lab::TrainOptions options, const Problem& problem);

}  // namespace qklab::experiment
