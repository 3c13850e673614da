#include "integrate.hpp"

#include <string>

#include "qklab/core/error.hpp"

namespace qklab::dynamics {

void require_times(const std::vector<double>& times) {
  double last = 0;
  for (const double time : times) {
    if (!std::isfinite(time) || time < last) {
      throw InvalidParameter("time", time, "times must be finite, >= 0 and not descend");
    }
    last = time;
  }
}

void require_options(const IntegrationOptions& options) {
  if (!(options.tolerance > 0 && options.tolerance <= 0.1)) {
    throw InvalidParameter("tolerance", options.tolerance, "must be > 0 and <= 0.1");
  }
  if (options.max_steps < 1) {
    throw InvalidParameter("max_steps", std::to_string(options.max_steps), "must be >= 1");
  }
}

}  // namespace qklab::dynamics
