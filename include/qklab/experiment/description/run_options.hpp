#pragma once

#include <cstdint>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/experiment/description/description.hpp"
#include "qklab/lab/training/train.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::experiment {

/// The option every verb has for its random choices.
Option seed_option();
/// How accurately the theory is solved.
std::vector<Option> theory_options();
/// How models are trained and measured.
std::vector<Option> training_options();
/// How many trained runs a point gets.
Option seeds_option();

std::uint64_t seed(const Description& description);
int seeds(const Description& description);

/// The options of theory_options() and the seed. Throws InvalidParameter when one is out of range.
theory::SolveOptions solve_options(const Description& description);

/// log2_points for verbs that solve a point dozens of times: as given, or else fewer the more tokens a sample
/// has, so that a search takes seconds.
int search_log2_points(const Description& description, const Problem& problem);

/// The options of training_options(). Throws InvalidParameter when one is out of range or has no effect with
/// the chosen optimizer.
lab::TrainOptions train_options(const Description& description);

/// Adam and gradient descent take steps of a given length.
bool has_learning_rate(lab::Optimizer optimizer);

/// What the point that needs most memory will hold. Throws unless every point can be trained:
/// InvalidParameter (lab::require_trainable), or ResourceError (lab::memory_need) that names a point for
/// which there is not the memory.
lab::MemoryNeed require_trainable(const std::vector<Problem>& points, const lab::TrainOptions& options);

}  // namespace qklab::experiment
