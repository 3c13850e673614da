#pragma once

#include <cstdint>

#include "qklab/core/problem.hpp"
#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab::plain {

// The model written down sample by sample from docs/theory section 1, without blocks, packing or matrix
// products over samples: the truth that the fast code is held against.

Matrix tokens(const Problem& problem, std::uint64_t seed, long sample);

Matrix scores(const Matrix& x, const Matrix& s);

Matrix attention(const Problem& problem, const Matrix& h);

/// A0 = sigma(h0 + sqrt(noise_in) xi).
Matrix noisy_attention(const Problem& problem, const Matrix& teacher, std::uint64_t seed, long sample);

/// y: T x T for seq2lab, T x d for seq2seq.
Matrix label(const Problem& problem, const Matrix& teacher, std::uint64_t seed, long sample);

/// ||y - sigma(h)||_F^2, or ||y P - sigma(h) x||_F^2/d with P the projector on the span of the tokens.
double loss(const Problem& problem, const Matrix& teacher, const Matrix& student, std::uint64_t seed,
            long sample);

/// S of docs/theory section 1.3 from the parameters: W, S itself, or [U V].
Matrix student(const Problem& problem, const Matrix& parameters);

double penalty(const Problem& problem, const Matrix& parameters);

double objective(const Problem& problem, const Matrix& teacher, const Matrix& parameters, std::uint64_t seed);

}  // namespace qklab::lab::plain
