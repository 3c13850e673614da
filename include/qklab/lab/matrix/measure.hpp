#pragma once

#include <cstdint>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

/// W W^T, d x d, exactly symmetric.
Matrix product_with_transpose(const Matrix& factor);

/// (A + A^T)/2, exactly symmetric.
Matrix symmetric_part(const Eigen::Ref<const Matrix>& matrix);

/// Tr(A B^T)/d of two d x d matrices.
double overlap(const Matrix& left, const Matrix& right);

/// Eigenvalues, ascending, and the eigenvectors in the columns of `vectors`, in the same order.
struct Modes {
  std::vector<double> values;
  Eigen::MatrixXd vectors;
};

/// The modes of a symmetric matrix (LAPACK dsyevd, dsyevr where that fails). Throws Error when an entry is
/// not finite or neither converges.
Modes symmetric_modes(const Matrix& matrix);

/// The singular values of a square matrix, ascending (LAPACK dgesdd). Throws like symmetric_modes().
std::vector<double> singular_values(const Matrix& matrix);

/// (u_i . v_i)^2 of the i-th eigenvectors of both.
std::vector<double> alignments(const Modes& left, const Modes& right);

/// v_i^T A v_i of the eigenvectors v_i.
std::vector<double> levels(const Matrix& matrix, const Modes& modes);

/// Fraction of values below 1e-3 of the largest, both in absolute value; 1 when all are zero.
double zero_fraction(const std::vector<double>& values);

/// E ||sigma(h0) - sigma(h)||_F^2 over `samples` fresh samples without label noise, with the standard error
/// over samples; h0 from the teacher S0, h from the student S (docs/theory section 1.3: all T x T scores for
/// an untied one). Sample i is a function of (seed, i) alone.
Estimate measure_test_error(const Problem& problem, const Matrix& teacher, const Matrix& student,
                            long samples, std::uint64_t seed);

/// Bytes that the measurements of a trained run hold, its student included.
double measurement_bytes(const Problem& problem, long test_samples, int threads);

}  // namespace qklab::lab
