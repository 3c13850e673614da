#pragma once

#include <limits>
#include <vector>

#include "qklab/core/standard_error.hpp"

namespace qklab::experiment {

/// Mean of a measurement over runs: NaN without runs, its error NaN for a single one.
template <class Run, class Measure>
Estimate over_runs(const std::vector<Run>& runs, const Measure& measure) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(measure(run));
  if (values.empty()) return {unknown, unknown};
  const Estimate mean = mean_and_error(values);
  return {mean.value, values.size() > 1 ? mean.se : unknown};
}

}  // namespace qklab::experiment
