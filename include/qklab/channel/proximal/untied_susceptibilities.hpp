#pragma once

namespace qklab {

/// V of the symmetric and of the antisymmetric components.
struct UntiedSusceptibilities {
  double symmetric = 0;
  double antisymmetric = 0;
};

}  // namespace qklab
