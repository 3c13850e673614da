#pragma once

namespace qklab {

/// Gives the process one thread budget: OpenMP gets `threads` (0: all cores), BLAS gets one thread inside
/// every parallel loop. Call once, from the program (not from the library). Throws InvalidParameter when
/// negative.
void set_thread_budget(int threads);

/// The budget now in force.
int thread_budget();

/// While alive, BLAS and LAPACK calls use the whole budget; for large eigenproblems outside parallel loops.
class WholeBudgetForBlas {
 public:
  WholeBudgetForBlas();
  ~WholeBudgetForBlas();
  WholeBudgetForBlas(const WholeBudgetForBlas&) = delete;
  WholeBudgetForBlas& operator=(const WholeBudgetForBlas&) = delete;
};

}  // namespace qklab
