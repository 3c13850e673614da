#pragma once

#include <cstdint>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/matrix.hpp"

namespace qklab::lab {

/// S = W W^T, d x d, exactly symmetric.
Matrix product_with_transpose(const Matrix& factor);

/// Tr(A B)/d of two symmetric d x d matrices.
double overlap(const Matrix& left, const Matrix& right);

/// The d eigenvalues of W W^T, ascending, computed from the smaller of W W^T and W^T W (LAPACK dsyevd);
/// rounding below zero is cut off. Throws Error when an entry is not finite or LAPACK does not converge.
std::vector<double> eigenvalues_of_product(const Matrix& factor);

/// Fraction of eigenvalues (ascending, >= 0) below 1e-3 of the largest; 1 when all are zero.
double zero_fraction(const std::vector<double>& eigenvalues);

/// E ||sigma(h0) - sigma(h)||_F^2 over `samples` fresh samples without label noise, with the standard error
/// over samples; h0 from the teacher S0, h from S = W W^T. Sample i is a function of (seed, i) alone.
Estimate measure_test_error(const Problem& problem, const Matrix& teacher, const Matrix& weights,
                            long samples, std::uint64_t seed);

}  // namespace qklab::lab
