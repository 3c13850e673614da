#pragma once

#include "attention_rows.hpp"

namespace qklab {

/// sigma(h) of the hardmax: a 1 in each row a, at the largest h_ab (the first of equal ones), else 0. A row
/// of scores with a NaN gives NaN.
template <class Real>
void hardmax_attention(int tokens, int count, const AttentionRows<Real>& rows);

}  // namespace qklab
