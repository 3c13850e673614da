#include "amp_damping.hpp"

#include <algorithm>

namespace qklab::lab {

bool AmpDamping::follow(double change) {
  constexpr double patience = 10;  // iterations, in units of what damping slows them by
  constexpr double progress = 0.9;
  constexpr double escape = 0.5;  // a change that would multiply S before long counts for several
  constexpr double increment = 0.2;
  constexpr double most = 0.9;
  if (change < progress * lowest_) {
    lowest_ = change;
    waited_ = 0;
    return true;
  }
  waited_ += change > escape ? 3 : 1;
  if (waited_ < patience / (1 - current_)) return true;
  if (!when_needed_ || current_ >= most) return false;
  current_ = std::min(current_ + increment, most);
  waited_ = 0;
  return true;
}

}  // namespace qklab::lab
