#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

/// What two tasks measure differently on the same seeds: mean of (seq2seq - seq2lab), relative to seq2lab.
struct Gap {
  Estimate test_error;
  Estimate train_loss;
  Estimate overlap;
  Estimate self_overlap;
};

Gap gap_between_tasks(Problem problem, int seeds) {
  TrainOptions options;
  options.test_samples = 2000;
  options.gradient_tolerance = 1e-4;
  std::vector<double> test_error;
  std::vector<double> train_loss;
  std::vector<double> overlap;
  std::vector<double> self_overlap;
  for (int seed = 1; seed <= seeds; ++seed) {
    problem.task = Task::seq2lab;
    const TrainedRun lab = run(problem, options, static_cast<std::uint64_t>(seed));
    problem.task = Task::seq2seq;
    const TrainedRun seq = run(problem, options, static_cast<std::uint64_t>(seed));
    test_error.push_back(seq.test_error.value / lab.test_error.value - 1);
    train_loss.push_back(seq.train_loss / lab.train_loss - 1);
    overlap.push_back(seq.overlap / lab.overlap - 1);
    self_overlap.push_back(seq.self_overlap / lab.self_overlap - 1);
  }
  return {mean_and_error(test_error), mean_and_error(train_loss), mean_and_error(overlap),
          mean_and_error(self_overlap)};
}

/// A gap of order 1/d: twice the gap at 2 d less the gap at d is zero within three standard errors.
void expect_vanishing(const Estimate& small, const Estimate& large) {
  EXPECT_NEAR(2 * large.value - small.value, 0, 3 * std::hypot(2 * large.se, small.se));
}

void expect_one_limit(Problem problem, int small_seeds) {
  problem.dimension = 24;
  const Gap small = gap_between_tasks(problem, small_seeds);
  problem.dimension = 48;
  const Gap large = gap_between_tasks(problem, small_seeds / 2);
  expect_vanishing(small.test_error, large.test_error);
  expect_vanishing(small.train_loss, large.train_loss);
  expect_vanishing(small.overlap, large.overlap);
  expect_vanishing(small.self_overlap, large.self_overlap);
}

TEST(Tasks, MixedTokensLearnWhatLabelsLearn) {
  Problem problem;
  problem.alpha = 1;
  problem.lambda = 0.05;
  problem.noise_in = 0.2;
  expect_one_limit(problem, 16);
}

TEST(Tasks, NoiseOnMixedTokensIsNoiseOnLabels) {
  Problem problem;
  problem.alpha = 1;
  problem.lambda = 0.05;
  problem.noise_out = 0.05;
  expect_one_limit(problem, 24);
}

}  // namespace
}  // namespace qklab::lab
