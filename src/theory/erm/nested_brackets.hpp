#pragma once

#include <optional>

#include "qklab/core/problem.hpp"
#include "qklab/theory/fixed_point/order_parameters.hpp"

namespace qklab::theory {

/// The solution for the identity by nested bracketing in (delta, b), (3.1): slow, and sure where iterations
/// stall, at weak decay near a threshold. Nothing for direct students, widths that limit, lambda = 0, and
/// where no bracket is found.
std::optional<OrderParameters> solve_by_brackets(const Problem& problem);

}  // namespace qklab::theory
