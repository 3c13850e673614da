#include "qklab/lab/amp.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "lab/training_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/objective.hpp"
#include "qklab/lab/teacher.hpp"

namespace qklab::lab {
namespace {

Problem small_problem() {
  Problem problem;
  problem.dimension = 30;
  problem.alpha = 1;
  problem.lambda = 0.1;
  problem.noise_in = 0.2;
  return problem;
}

AmpOptions quick_options() {
  AmpOptions options;
  options.test_samples = 2000;
  return options;
}

TEST(MessagePassing, EndsAtTheMinimiserOfLbfgs) {
  const Problem problem = small_problem();
  const AmpRun amp = run_amp(problem, quick_options(), 3);
  ASSERT_EQ(amp.outcome, Outcome::converged);
  EXPECT_EQ(amp.largest_damping, 0);
  TrainOptions options;
  options.gradient_tolerance = 1e-8;
  options.test_samples = 2000;
  const TrainedRun trained = run(problem, options, 3);
  ASSERT_EQ(trained.outcome, Outcome::converged);
  EXPECT_NEAR(amp.overlap, trained.overlap, 1e-6 * trained.overlap);
  EXPECT_NEAR(amp.self_overlap.symmetric, trained.self_overlap, 1e-6 * trained.self_overlap);
  EXPECT_NEAR(amp.train_loss, trained.train_loss, 1e-6 * trained.train_loss);
  EXPECT_NEAR(amp.test_error.value, trained.test_error.value, 1e-6 * trained.test_error.value);
  for (std::size_t i = 0; i < amp.spectrum.size(); ++i) {
    EXPECT_NEAR(amp.spectrum[i], trained.eigenvalues[i], 1e-5 * trained.eigenvalues.back());
  }
}

TEST(MessagePassing, IsAFunctionOfTheSeedOnly) {
  const int budget = omp_get_max_threads();
  Problem problem = small_problem();
  problem.dimension = 50;  // large enough for two threads
  AmpOptions options = quick_options();
  options.max_iterations = 6;
  omp_set_num_threads(1);
  const AmpRun one = run_amp(problem, options, 4);
  omp_set_num_threads(2);
  const AmpRun two = run_amp(problem, options, 4);
  omp_set_num_threads(budget);
  EXPECT_EQ(one.spectrum, two.spectrum);
  EXPECT_EQ(one.susceptibility.symmetric, two.susceptibility.symmetric);
  EXPECT_EQ(one.train_loss, two.train_loss);
  EXPECT_EQ(one.iterations.back().residual, two.iterations.back().residual);
  EXPECT_NE(run_amp(problem, options, 5).overlap, one.overlap);
}

}  // namespace
}  // namespace qklab::lab
