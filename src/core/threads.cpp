#include "qklab/core/threads.hpp"

#include <cblas.h>
#include <omp.h>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

/// OpenBLAS built on OpenMP passes its own setting on to OpenMP, which must keep the budget.
void set_blas_threads(int threads) {
  const int budget = omp_get_max_threads();
  openblas_set_num_threads(threads);
  omp_set_num_threads(budget);
}

}  // namespace

void set_thread_budget(int threads) {
  if (threads < 0) throw InvalidParameter("threads", threads, "must be >= 0 (0: all cores)");
  omp_set_num_threads(threads == 0 ? omp_get_num_procs() : threads);
  set_blas_threads(1);
}

int thread_budget() {
  return omp_get_max_threads();
}

WholeBudgetForBlas::WholeBudgetForBlas() {
  set_blas_threads(thread_budget());
}

WholeBudgetForBlas::~WholeBudgetForBlas() {
  set_blas_threads(1);
}

}  // namespace qklab
