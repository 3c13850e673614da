#include "qklab/core/threads.hpp"

#include <cblas.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

TEST(ThreadBudget, OpenMpGetsTheBudgetAndBlasOneThread) {
  set_thread_budget(2);
  EXPECT_EQ(thread_budget(), 2);
  EXPECT_EQ(openblas_get_num_threads(), 1);
  {
    const WholeBudgetForBlas whole;
    EXPECT_EQ(openblas_get_num_threads(), 2);
  }
  EXPECT_EQ(thread_budget(), 2);
  EXPECT_EQ(openblas_get_num_threads(), 1);
}

TEST(ThreadBudget, ZeroMeansAllCores) {
  set_thread_budget(0);
  EXPECT_EQ(thread_budget(), omp_get_num_procs());
}

TEST(ThreadBudget, NegativeIsRefused) {
  EXPECT_THROW(set_thread_budget(-1), InvalidParameter);
}

}  // namespace
}  // namespace qklab
