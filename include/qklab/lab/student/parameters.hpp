#pragma once

#include <cstdint>

#include "qklab/core/problem.hpp"
#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

// What is trained is one matrix P of d rows (docs/theory section 1.3):
//
//   tied     P = W, d x p          S = W W^T
//   direct   P, d x d              S = (P + P^T)/2, so that every P is a symmetric student
//   untied   P = [U V], d x 2p     S = U V^T

/// Columns of P: p, d or 2 p.
int parameter_columns(const Problem& problem);

/// d times columns; a number that no integer holds is one that no memory holds either.
double parameter_count(const Problem& problem);

/// S, d x d; exactly symmetric for tied and direct students.
Matrix student_matrix(const Problem& problem, const Matrix& parameters);

/// Parameters of the student nearest to S for which the penalty is that of S: W = U sqrt(s) from the largest
/// eigenvalues (tied), S itself (direct), U sqrt(s) and V sqrt(s) from the largest singular values (untied).
/// Columns beyond the rank of S are zero. Throws Error when LAPACK does not converge.
Matrix parameters_of(const Problem& problem, const Matrix& student);

/// A Gaussian start that knows nothing of the teacher but Q0 = E Tr(S S^T)/d, so that scores between
/// different tokens start with the variance of the teacher's. W, U, V have iid entries; a direct S is a GOE
/// matrix.
Matrix random_start(const Problem& problem, std::uint64_t seed);

}  // namespace qklab::lab
