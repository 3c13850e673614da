#pragma once

#include <string>

namespace qklab::lab {

/// Of tokens, parameters and products; scores and losses are always double.
enum class Precision { f32, f64 };

std::string to_string(Precision precision);

/// Throws InvalidParameter for another name.
Precision parse_precision(const std::string& name);

}  // namespace qklab::lab
