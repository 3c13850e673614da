#pragma once

#include <string>
#include <vector>

#include "cli/session/verb.hpp"
#include "qklab/experiment/description/description.hpp"

namespace qklab::cli {

/// What the command line asks for.
struct Arguments {
  std::string help;            ///< text to print instead of any work; empty: there is work
  const Verb* verb = nullptr;  ///< one of the verbs given
  experiment::Description options{{}};
};

/// Reads the command line and the file named by --config. Throws Error with one line that names what is wrong
/// and what is allowed.
Arguments parse_arguments(int argc, const char* const* argv, const std::vector<Verb>& verbs);

}  // namespace qklab::cli
