#pragma once

#include "qklab/channel/labels/channel.hpp"

namespace qklab::lab {

/// White coordinates of the scores of a block (docs/theory sections 1.4 and 8.1), rows of `count` values:
/// h_ab over sqrt(1 + delta_ab) for the layout `pairs`; half sums, then half differences for the layout
/// `full`.
void scores_to_white(ScoreLayout layout, int tokens, int count, const double* scores, double* white);

/// The transposed map: slopes in the white coordinates become slopes in the scores.
void slopes_from_white(ScoreLayout layout, int tokens, int count, const double* white, double* slopes);

}  // namespace qklab::lab
