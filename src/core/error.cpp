#include "qklab/core/error.hpp"

#include <fmt/format.h>

namespace qklab {

InvalidParameter::InvalidParameter(const std::string& name, double value, const std::string& allowed)
    : InvalidParameter(name, fmt::format("{}", value), allowed) {}

}  // namespace qklab
