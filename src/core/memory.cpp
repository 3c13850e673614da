#include "qklab/core/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double physical_memory_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  double kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return infinite;
}

double number_in(const char* path) {
  std::ifstream file(path);
  double value = infinite;
  return file >> value ? value : infinite;
}

/// What a control group leaves, infinite without a limit.
double container_memory_available() {
  const double limit = number_in("/sys/fs/cgroup/memory.max");
  const double used = number_in("/sys/fs/cgroup/memory.current");
  return limit == infinite || used == infinite ? infinite : std::max(0.0, limit - used);
}

}  // namespace

double available_memory() {
  return std::min(physical_memory_available(), container_memory_available());
}

void require_memory(double bytes, const std::string& parameter, const std::string& what) {
  require_memory(bytes, available_memory(), parameter, what);
}

void require_memory(double bytes, double available, const std::string& parameter, const std::string& what) {
  if (bytes <= available) return;
  throw ResourceError(fmt::format("{}: {} needs {:.3g} GiB, {:.3g} GiB are available", parameter, what,
                                  bytes / gibibyte, available / gibibyte));
}

}  // namespace qklab
