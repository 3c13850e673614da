#include "amp_damping.hpp"

namespace qklab::lab {

bool AmpDamping::follow(double residual) {
  constexpr int patience = 15;
  constexpr double most = 0.95;
  if (residual < lowest_) {
    lowest_ = residual;
    waited_ = 0;
    return true;
  }
  if (++waited_ < patience) return true;
  if (!allowed_ || current_ > most) return false;
  current_ = (1 + current_) / 2;
  waited_ = 0;
  lowest_ = residual;
  return true;
}

}  // namespace qklab::lab
