#pragma once

#include "qklab/core/problem.hpp"

namespace qklab::lab {

/// Throws InvalidParameter for a problem outside its domain and for one the lab cannot train: softmax and
/// identity are trained, seq2seq needs T <= d, a direct student has no width (kappa = 1).
void require_trainable(const Problem& problem);

}  // namespace qklab::lab
