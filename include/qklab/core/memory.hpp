#pragma once

#include <string>

namespace qklab {

inline constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

/// Memory that can still be taken, in bytes (available physical memory, or the container's limit if lower).
double available_memory();

/// Throws ResourceError "<parameter>: <what> needs x GiB, y GiB are available" unless `bytes` fit in
/// available memory. `parameter` is the text that names the culprit, such as "dimension = 20000".
void require_memory(double bytes, const std::string& parameter, const std::string& what);

/// The same with `available` bytes.
void require_memory(double bytes, double available, const std::string& parameter, const std::string& what);

}  // namespace qklab
