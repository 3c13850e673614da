#pragma once

#include <vector>

#include "amp_output.hpp"

namespace qklab::lab {

/// y of each sample of a block, T x T rows of `count` values: R, or R C^-1 where tokens are mixed; then in
/// `labels`.
const double* labels_of(int tokens, const AmpBlock& block, std::vector<double>& labels);

}  // namespace qklab::lab
