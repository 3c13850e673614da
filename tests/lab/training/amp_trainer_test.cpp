#include <gtest/gtest.h>

#include <cmath>

#include "lab/amp_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/training/descent.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

TrainOptions quick_options(Optimizer optimizer) {
  TrainOptions options;
  options.optimizer = optimizer;
  options.test_samples = 2000;
  return options;
}

double objective(const TrainedRun& run) {
  return run.train_loss + run.regularization;
}

class EveryStudentTrained : public testing::TestWithParam<NamedProblem> {};

TEST_P(EveryStudentTrained, MessagesAndDescentsFindOneMatrix) {
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, 5);
  const auto data = draw_dataset<double>(problem, teacher, 5);
  Objective<double> loss(data, problem);
  const DifferentiableFunction function = [&](std::span<const double> point, std::span<double> gradient) {
    return loss(point, gradient);
  };
  const Matrix s = iterate_amp(data, problem, teacher, {}).student;
  const Matrix start = random_start(problem, 5);
  DescentOptions options;
  options.gradient_tolerance = 1e-7;
  options.length_scale = start.norm();
  options.max_epochs = 100000;
  for (const auto& minimize : {minimize_lbfgs, minimize_adam}) {
    const Descent descent = minimize(function, entries(start), options);
    ASSERT_EQ(descent.outcome, Outcome::converged);
    const Matrix found =
        student_matrix(problem, Eigen::Map<const Matrix>(descent.point.data(), start.rows(), start.cols()));
    // One token sees the symmetric part of S.
    const Matrix seen = problem.tokens == 1 ? symmetric_part(found) : found;
    EXPECT_LT((seen - s).norm(), 1e-4 * s.norm());
  }
}

TEST_P(EveryStudentTrained, AmpIsAnOptimizer) {
  const Problem& problem = GetParam().problem;
  const TrainedRun amp = run(problem, quick_options(Optimizer::amp), 5);
  const TrainedRun lbfgs = run(problem, quick_options(Optimizer::lbfgs), 5);
  EXPECT_EQ(amp.outcome, Outcome::converged);
  EXPECT_EQ(amp.optimizer, Optimizer::amp);
  EXPECT_EQ(lbfgs.message_passes, 0);
  EXPECT_GT(amp.message_passes, 0);
  EXPECT_GT(amp.epochs, amp.message_passes);
  EXPECT_NEAR(objective(amp), objective(lbfgs), 1e-6 * objective(lbfgs));
  EXPECT_NEAR(amp.overlap, lbfgs.overlap, 1e-4 * lbfgs.overlap);
  EXPECT_NEAR(amp.test_error.value, lbfgs.test_error.value, 1e-3 * lbfgs.test_error.value);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryStudentTrained, testing::ValuesIn(amp_problems()),
                         [](const auto& param) { return param.param.name; });

TEST(AmpTrainer, PolishesTheObjectiveOfMixedTokens) {
  Problem problem = amp_problems().front().problem;
  problem.task = Task::seq2seq;
  problem.tokens = 3;
  const TrainedRun amp = run(problem, quick_options(Optimizer::amp), 5);
  const TrainedRun lbfgs = run(problem, quick_options(Optimizer::lbfgs), 5);
  EXPECT_EQ(amp.outcome, Outcome::converged);
  EXPECT_NEAR(objective(amp), objective(lbfgs), 1e-6 * objective(lbfgs));
  EXPECT_NEAR(amp.overlap, lbfgs.overlap, 1e-4 * lbfgs.overlap);
}

TEST(AmpTrainer, EndsAtTheMinimumWhereMessagesDoNotSettle) {
  // One token in 24 dimensions: the squared norms of its matrices, d/2 on average, scatter widely.
  for (Parametrization parametrization : {Parametrization::tied, Parametrization::untied}) {
    Problem problem = amp_problems().front().problem;
    problem.parametrization = parametrization;
    problem.activation = Activation::identity;
    problem.tokens = 1;
    problem.alpha = 0.4;
    problem.task = Task::seq2seq;
    const TrainedRun amp = run(problem, quick_options(Optimizer::amp), 7);
    const TrainedRun lbfgs = run(problem, quick_options(Optimizer::lbfgs), 7);
    EXPECT_EQ(amp.outcome, Outcome::converged);
    EXPECT_NEAR(objective(amp), objective(lbfgs), 1e-6 * objective(lbfgs));
  }
}

TEST(AmpTrainer, LargeWeightDecayGivesTheZeroSolution) {
  Problem problem = amp_problems().front().problem;
  problem.lambda = 20;
  const TrainedRun zero = run(problem, quick_options(Optimizer::amp), 5);
  EXPECT_EQ(zero.outcome, Outcome::zero_solution);
  EXPECT_EQ(zero.self_overlap, 0);
}

TEST(AmpTrainer, KeepsToItsEpochs) {
  TrainOptions options = quick_options(Optimizer::amp);
  options.max_epochs = 7;
  const TrainedRun amp = run(amp_problems().front().problem, options, 5);
  EXPECT_EQ(amp.outcome, Outcome::iteration_limit);
  EXPECT_LE(amp.epochs, 10);  // two compare the end of the messages with the random start, one descends
}

TEST(AmpTrainer, RefusesWhatItDoesNotTake) {
  Problem problem = amp_problems().front().problem;
  EXPECT_THROW(run(problem, quick_options(Optimizer::automatic), 1), InvalidParameter);
  problem.parametrization = Parametrization::untied;
  problem.kappa = 0.5;
  EXPECT_THROW(run(problem, quick_options(Optimizer::amp), 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::lab
