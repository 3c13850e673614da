#pragma once

#include "verb.hpp"

namespace qklab::cli {

/// The options of verbs that train only on request: training and --seeds, without effect unless `switch_name`
/// asks for it.
Verb::Group training_on_request(const std::string& switch_name);

/// Trained runs of each point, 0 unless asked for. Options of training are a mistake then.
int seeds_on_request(const experiment::Description& options, const std::string& switch_name);

}  // namespace qklab::cli
