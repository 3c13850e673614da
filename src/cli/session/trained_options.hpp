#pragma once

#include <vector>

#include "qklab/lab/training/train.hpp"
#include "verb.hpp"

namespace qklab::cli {

/// The options of verbs that train only on request: training and --seeds, without effect unless `switch_name`
/// asks for it.
Verb::Group training_on_request(const std::string& switch_name);

/// Trained runs of each point, 0 unless asked for. Options of training are a mistake then.
int seeds_on_request(const experiment::Description& options, const std::string& switch_name);

/// Throws unless every point can be trained. Says on standard error how much memory the largest will hold,
/// unless that is little or --quiet was given.
void prepare_training(Session& session, const std::vector<Problem>& points, const lab::TrainOptions& options);

}  // namespace qklab::cli
