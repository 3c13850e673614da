#pragma once

#include <vector>

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/description/plan.hpp"

namespace qklab::cli {

/// What the panels of a figure show.
enum class SpectrumOf {
  student,  ///< eigenvalues of S
  weights,  ///< singular values of W, or of S where that is what is trained
};

/// One panel a point: the predicted density on `density_points` points over the trained values, with
/// outliers, and below it (eigenvalues) what each teacher mode or learned level shows of the teacher.
experiment::Json spectra(const experiment::Plan& plan, const std::vector<experiment::Comparison>& points,
                         int density_points, SpectrumOf shown);

}  // namespace qklab::cli
