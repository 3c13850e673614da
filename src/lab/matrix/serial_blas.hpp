#pragma once

#include <omp.h>

namespace qklab::lab {

/// While alive, BLAS and LAPACK calls of this thread use one thread: the split of work over threads changes
/// the order of sums, and results of the lab do not depend on the number of threads.
class SerialBlas {
 public:
  SerialBlas() : budget_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SerialBlas() { omp_set_num_threads(budget_); }
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;

 private:
  int budget_;
};

}  // namespace qklab::lab
