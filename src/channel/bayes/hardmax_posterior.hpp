#pragma once

#include "qklab/channel/bayes/bayes_residual.hpp"

namespace qklab {

/// The posterior of white scores e ~ N(w, V) given where the largest entry of each row is: docs/theory
/// section 5.4. largest[a] is argmax_b h_ab; two or three tokens.
Evidence hardmax_posterior(int tokens, const int* largest, const double* center, double variance,
                           double* residual);

}  // namespace qklab
