#include <gtest/gtest.h>

#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

Problem problem_of(int dimension) {
  Problem problem;
  problem.dimension = dimension;
  problem.alpha = 1;
  return problem;
}

TrainOptions within(double gibibytes) {
  TrainOptions options;
  options.memory = gibibytes * gibibyte;
  return options;
}

TEST(TrainingMemory, StoredTokensAreTheBytesOfTheirNumbers) {
  const Problem problem = problem_of(1000);
  for (Precision precision : {Precision::f32, Precision::f64}) {
    TrainOptions options;
    options.precision = precision;
    const double tokens = memory_estimate(problem, options, TokenStorage::stored) -
                          memory_estimate(problem, options, TokenStorage::regenerated);
    EXPECT_DOUBLE_EQ(tokens, 1e6 * 2 * 1000 * (precision == Precision::f32 ? 4 : 8));
  }
}

TEST(TrainingMemory, TokensAreStoredWhereThatFits) {
  const Problem problem = problem_of(1000);
  EXPECT_EQ(memory_need(problem, within(40)).storage, TokenStorage::stored);
  const MemoryNeed little = memory_need(problem, within(6));
  EXPECT_EQ(little.storage, TokenStorage::regenerated);
  EXPECT_LT(little.bytes, 6 * gibibyte);
  TrainOptions told = within(40);
  told.storage = TokenStorage::regenerated;
  EXPECT_EQ(memory_need(problem, told).bytes, little.bytes);
}

TEST(TrainingMemory, NothingIsDrawnThatDoesNotFit) {
  const Problem problem = problem_of(1000);
  TrainOptions options = within(6);
  options.storage = TokenStorage::stored;
  EXPECT_THROW(memory_need(problem, options), ResourceError);
  EXPECT_THROW(run(problem, options, 1), ResourceError);
  EXPECT_THROW(run(problem, within(0.5), 1), ResourceError);
}

TEST(TrainingMemory, RunsSayWhatTheyHeldAndAreTheSame) {
  const Problem problem = problem_of(24);
  TrainOptions options;
  options.max_epochs = 30;
  options.test_samples = 200;
  const TrainedRun stored = run(problem, options, 1);
  options.storage = TokenStorage::regenerated;
  const TrainedRun regenerated = run(problem, options, 1);
  EXPECT_EQ(stored.memory.storage, TokenStorage::stored);
  EXPECT_EQ(regenerated.memory.storage, TokenStorage::regenerated);
  EXPECT_LT(regenerated.memory.bytes, stored.memory.bytes);
  EXPECT_EQ(regenerated.eigenvalues, stored.eigenvalues);
  EXPECT_EQ(regenerated.train_loss, stored.train_loss);
  EXPECT_EQ(regenerated.test_error.value, stored.test_error.value);
}

}  // namespace
}  // namespace qklab::lab
