#pragma once

#include <vector>

#include "qklab/lab/online/online_sgd.hpp"

namespace qklab::lab {

/// Everything of a point that follows from the students S_k and the teachers; not time, loss or factor_norm.
OnlinePoint measure_overlaps(const std::vector<Matrix>& students, const std::vector<Matrix>& teachers);

/// The spectra of S_1.
void measure_spectra(const Matrix& student, bool untied, OnlinePoint& point);

}  // namespace qklab::lab
