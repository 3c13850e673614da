#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "qklab/core/problem.hpp"

namespace qklab::experiment {

/// Keys in the order they are set. Numbers are written with the digits that read back the same double; what
/// is not finite (unknown errors, an infinite stability number) is null.
using Json = nlohmann::ordered_json;

inline constexpr std::string_view version = "0.1.0";

/// The resolved problem, by option names.
Json to_json(const Problem& problem);

}  // namespace qklab::experiment
