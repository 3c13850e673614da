#pragma once

#include <Eigen/Core>

namespace qklab::dynamics {

/// Integrals from the first column to every column of rows that are sampled at equal distances, by the cubic
/// through the four nearest samples (error of order step^5 an interval); fewer samples, lower degree.
Eigen::ArrayXXd integral_to(const Eigen::ArrayXXd& samples, double step);

/// Integrals from every column to the last one.
Eigen::ArrayXXd integral_from(const Eigen::ArrayXXd& samples, double step);

}  // namespace qklab::dynamics
