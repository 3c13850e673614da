#pragma once

namespace qklab::cli {

/// The command `qklab`: parses, calls, prints. Returns the exit status: 0 done, 1 unexpected failure, 2 bad
/// arguments or configuration, 3 did not converge, 130 interrupted.
int run(int argc, char** argv);

}  // namespace qklab::cli
