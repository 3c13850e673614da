#include "amp_damping.hpp"

namespace qklab::lab {

bool AmpDamping::follow(double residual) {
  constexpr double patience = 15;  // iterations, in units of what damping slows them by
  constexpr double progress = 0.9;
  constexpr double most = 0.95;
  if (residual < progress * lowest_) {
    lowest_ = residual;
    waited_ = 0;
    return true;
  }
  if (++waited_ < patience / (1 - current_)) return true;
  if (!allowed_ || current_ > most) return false;
  current_ = (1 + current_) / 2;
  waited_ = 0;
  lowest_ = residual;
  return true;
}

}  // namespace qklab::lab
