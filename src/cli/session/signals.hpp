#pragma once

#include "qklab/core/progress.hpp"

namespace qklab::cli {

/// From now on the first SIGINT or SIGTERM asks the work to stop at its next safe point, the second ends the
/// process at once. Writing to a closed pipe is an error of the write, no signal.
void watch_signals();

/// Requested once a signal came.
StopToken stop_token();

/// 128 + the number of the signal that came, as shells report it; 0 when none came.
int signal_status();

}  // namespace qklab::cli
