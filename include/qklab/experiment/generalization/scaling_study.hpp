#pragma once

#include <vector>

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/theory/generalization/scaling.hpp"

namespace qklab::experiment {

/// A scaling law and the models trained at some of its points.
struct ScalingStudy {
  theory::ScalingLaw law;
  std::vector<Comparison> trained;  ///< points of the law with their runs, ascending in n
};

/// The series of a plan whose first axis is the number of samples, each ascending. Throws InvalidParameter
/// when it is not.
std::vector<std::vector<Problem>> sample_series(const Plan& plan);

/// Solves one series and trains `options.seeds` runs at `trained_points` of its points, spread evenly.
ScalingStudy study_scaling(const std::vector<Problem>& series, const theory::ScalingOptions& scaling,
                           const CompareOptions& options, int trained_points);

}  // namespace qklab::experiment
