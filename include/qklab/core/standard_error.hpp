#pragma once

#include <span>

namespace qklab {

/// A mean with its standard error (0 when only one value is known).
struct Estimate {
  double value = 0;
  double se = 0;
};

/// Mean of independent values and the standard error of that mean, sd/sqrt(count).
Estimate mean_and_error(std::span<const double> values);

}  // namespace qklab
