#pragma once

#include <cstdint>

#include "qklab/core/problem.hpp"
#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

/// The teacher S0, d x d, symmetric and positive semidefinite, as a function of (problem.teacher, dimension,
/// seed).
///
/// Wishart: S0 = W0 W0^T/sqrt(p0 d) with W0 d x p0 iid N(0, 1), p0 = max(1, round(kappa0 d)).
/// Power law and spectrum: the given eigenvalues in a Haar-distributed eigenbasis, the Q of the QR
/// factorisation of a Gaussian matrix with the signs that make the diagonal of R positive (Mezzadri, Notices
/// AMS 54, 2007). Bitwise the same on any number of threads. Throws InvalidParameter when a spectrum has not
/// d entries.
Matrix draw_teacher(const Problem& problem, std::uint64_t seed);

}  // namespace qklab::lab
