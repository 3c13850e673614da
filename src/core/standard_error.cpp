#include "qklab/core/standard_error.hpp"

#include <cmath>

namespace qklab {

Estimate mean_and_error(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  if (values.empty()) return {};
  double mean = 0;
  for (double value : values) mean += value / count;
  double square_deviation = 0;
  for (double value : values) square_deviation += (value - mean) * (value - mean);
  const double se = values.size() < 2 ? 0 : std::sqrt(square_deviation / (count - 1) / count);
  return {mean, se};
}

}  // namespace qklab
