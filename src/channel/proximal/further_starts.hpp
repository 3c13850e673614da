#pragma once

#include <vector>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/channel/proximal/proximal.hpp"

namespace qklab {

/// Rows of the attention matrix, one flag a token.
using TokenSet = std::vector<char>;

/// All tokens, each token alone, and all but one.
std::vector<TokenSet> row_choices(int tokens);

/// Scores whose softmax rows come closest to the label in the chosen rows and to sigma(w) in the others.
///
/// Least squares in the logits: with L the wanted logits, centred in each row, Q = 1 1^T/T, P = I - Q and
/// S = L + L^T, the symmetric H that minimises |(H - L) P|^2 is P S P/2 + P S Q + Q S P.
void preimage_of_rows(const Channel& channel, const PointRows& label, const PointRows& center,
                      const TokenSet& chosen, int point, PointRows& start);

}  // namespace qklab
