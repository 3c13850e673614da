#include "qklab/lab/message_passing/amp.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <atomic>
#include <cmath>
#include <limits>

#include "lab/amp_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

Problem small_problem() {
  return amp_problems().front().problem;
}

AmpOptions quick_options() {
  AmpOptions options;
  options.test_samples = 2000;
  return options;
}

/// Gradient in S of the data term of the objective, times d.
Matrix scaled_gradient(const Dataset<double>& data, Problem problem, const Matrix& student) {
  problem.parametrization = Parametrization::direct;
  problem.kappa = 1;
  problem.lambda = 0;
  Matrix gradient(problem.dimension, problem.dimension);
  Objective<double>(data, problem)(entries(student),
                                   {gradient.data(), static_cast<std::size_t>(gradient.size())});
  return problem.dimension * gradient;
}

class EveryStudent : public testing::TestWithParam<NamedProblem> {};

TEST_P(EveryStudent, FixedPointIsStationary) {
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, 2);
  const auto data = draw_dataset<double>(problem, teacher, 2);
  const AmpTrajectory path = iterate_amp(data, problem, teacher, quick_options());
  ASSERT_EQ(path.outcome, Outcome::converged);
  const Matrix& s = path.student;
  const Matrix gradient = scaled_gradient(data, problem, s);
  const double scale = gradient.norm();
  if (problem.parametrization == Parametrization::direct) {
    EXPECT_LT((gradient + 2 * problem.lambda * s).norm(), 1e-7 * scale);
    return;
  }
  // d grad + lambda d|S|_* contains 0: on the range of S it is lambda sign(S), off it smaller.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(s);
  const Eigen::MatrixXd& u = modes.eigenvectors();
  const Eigen::MatrixXd slope = u.transpose() * gradient * u;
  const double largest = modes.eigenvalues().cwiseAbs().maxCoeff();
  int rank = 0;
  for (int i = 0; i < problem.dimension; ++i) {
    const double level = modes.eigenvalues()[i];
    if (std::abs(level) < 1e-9 * largest) continue;
    ++rank;
    const double wanted = -std::copysign(problem.lambda, level);
    EXPECT_LT((slope.col(i) - wanted * Eigen::VectorXd::Unit(problem.dimension, i)).norm(), 1e-6 * scale);
  }
  EXPECT_LT(rank, problem.dimension) << "nothing to say off the range";
  const Eigen::VectorXd slopes = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(gradient).eigenvalues();
  EXPECT_GE(slopes.minCoeff(), -problem.lambda - 1e-6 * scale);
  if (problem.parametrization == Parametrization::untied) {
    EXPECT_LE(slopes.maxCoeff(), problem.lambda + 1e-6 * scale);
  } else {
    EXPECT_GE(modes.eigenvalues().minCoeff(), -1e-12);
  }
}

TEST_P(EveryStudent, IteratesTurnWithTheData) {
  // x -> Q x, S0 -> Q S0 Q^T turns every iterate and leaves m, q, V and the conjugates alone.
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, 2);
  auto data = draw_dataset<double>(problem, teacher, 2);
  AmpOptions options = quick_options();
  options.max_iterations = 5;
  const AmpTrajectory plain = iterate_amp(data, problem, teacher, options);
  const int d = problem.dimension;
  Problem square = problem;
  square.parametrization = Parametrization::direct;
  square.kappa = 1;
  const Matrix q = Eigen::HouseholderQR<Eigen::MatrixXd>(gaussian_parameters(square, 3)).householderQ() *
                   Matrix::Identity(d, d);
  Eigen::Map<Matrix> x(data.inputs.data(), data.samples * data.tokens, d);
  x = (x * q.transpose()).eval();
  const AmpTrajectory turned = iterate_amp(data, problem, q * teacher * q.transpose(), options);
  EXPECT_LT((turned.student - q * plain.student * q.transpose()).norm(), 1e-8 * plain.student.norm());
  for (int t = 0; t < 5; ++t) {
    const AmpIteration& a = plain.iterations[t];
    const AmpIteration& b = turned.iterations[t];
    EXPECT_NEAR(a.overlap, b.overlap, 1e-8);
    EXPECT_NEAR(a.susceptibility.symmetric, b.susceptibility.symmetric, 1e-8 * a.susceptibility.symmetric);
    EXPECT_NEAR(a.overlap_hat, b.overlap_hat, 1e-8 * a.overlap_hat);
    EXPECT_NEAR(a.self_overlap_hat.symmetric, b.self_overlap_hat.symmetric,
                1e-8 * a.self_overlap_hat.symmetric);
    EXPECT_NEAR(a.susceptibility_hat.symmetric, b.susceptibility_hat.symmetric,
                1e-8 * a.susceptibility_hat.symmetric);
    EXPECT_NEAR(a.train_loss, b.train_loss, 1e-8 * a.train_loss);
  }
}

TEST_P(EveryStudent, StartsWithoutKnowledge) {
  const Problem& problem = GetParam().problem;
  AmpOptions options = quick_options();
  options.max_iterations = 1;
  options.iterate_samples = 20000;
  const AmpRun run = run_amp(problem, options, 2);
  const AmpIteration& start = run.iterations.at(0);
  EXPECT_EQ(start.overlap, 0);
  EXPECT_EQ(start.self_overlap.symmetric, 0);
  EXPECT_EQ(start.susceptibility.symmetric, teacher_self_overlap(problem));
  EXPECT_EQ(start.residual, 1);
  const Estimate blind = measure_test_error(problem, draw_teacher(problem, 2),
                                            Matrix::Zero(problem.dimension, problem.dimension), 20000, 2);
  EXPECT_EQ(start.test_error.value, blind.value);
  EXPECT_EQ(run.outcome, Outcome::iteration_limit);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryStudent, testing::ValuesIn(amp_problems()),
                         [](const auto& param) { return param.param.name; });

TEST(MessagePassing, IsAFunctionOfTheSeedOnly) {
  const int budget = omp_get_max_threads();
  Problem problem = small_problem();
  problem.dimension = 50;  // large enough for two threads
  AmpOptions options = quick_options();
  options.max_iterations = 6;
  for (Precision precision : {Precision::f64, Precision::f32}) {
    options.precision = precision;
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
}

TEST(MessagePassing, TokensMayBeDrawnAgain) {
  const Problem problem = small_problem();
  const Matrix teacher = draw_teacher(problem, 2);
  AmpOptions options = quick_options();
  options.max_iterations = 4;
  const auto stored = draw_dataset<double>(problem, teacher, 2);
  const auto regenerated = draw_dataset<double>(problem, teacher, 2, {TokenStorage::regenerated, {}, {}});
  EXPECT_EQ(iterate_amp(stored, problem, teacher, options).student,
            iterate_amp(regenerated, problem, teacher, options).student);
}

TEST(MessagePassing, SingleDataComeCloseToDouble) {
  const Problem problem = small_problem();
  AmpOptions options = quick_options();
  const AmpRun exact = run_amp(problem, options, 2);
  options.precision = Precision::f32;
  const AmpRun single = run_amp(problem, options, 2);
  EXPECT_EQ(single.outcome, Outcome::converged);
  EXPECT_NEAR(single.overlap, exact.overlap, 3e-5 * exact.overlap);
  EXPECT_NEAR(single.self_overlap.symmetric, exact.self_overlap.symmetric,
              3e-5 * exact.self_overlap.symmetric);
}

TEST(MessagePassing, IsDampedWhereItOscillates) {
  Problem problem = small_problem();
  problem.dimension = 40;
  problem.alpha = 0.3;
  problem.lambda = 0.02;
  AmpOptions options = quick_options();
  options.tolerance = 1e-7;
  options.damp_when_needed = false;
  const AmpRun plain = run_amp(problem, options, 1);
  EXPECT_EQ(plain.outcome, Outcome::stagnated);
  EXPECT_EQ(plain.largest_damping, 0);
  options.damp_when_needed = true;
  const AmpRun damped = run_amp(problem, options, 1);
  EXPECT_EQ(damped.outcome, Outcome::converged);
  EXPECT_GT(damped.largest_damping, 0);
  EXPECT_EQ(damped.iterations.front().damping, 0);
  EXPECT_GT(damped.susceptibility.symmetric, 2.5);
  // The fixed point is that of any damping.
  options.damping = 0.6;
  const AmpRun strongly = run_amp(problem, options, 1);
  EXPECT_EQ(strongly.outcome, Outcome::converged);
  EXPECT_NEAR(strongly.overlap, damped.overlap, 1e-5 * damped.overlap);
  EXPECT_NEAR(strongly.susceptibility.symmetric, damped.susceptibility.symmetric,
              1e-4 * damped.susceptibility.symmetric);
}

TEST(MessagePassing, LargeWeightDecayGivesTheZeroSolution) {
  Problem problem = small_problem();
  problem.lambda = 20;
  const AmpRun run = run_amp(problem, quick_options(), 1);
  EXPECT_EQ(run.outcome, Outcome::zero_solution);
  EXPECT_EQ(run.self_overlap.symmetric, 0);
  EXPECT_EQ(run.zero_fraction, 1);
}

TEST(MessagePassing, MixedTokensEndNearTheMinimiserOfTheirObjective) {
  // The distance is of the order of C - I, which falls as 1/sqrt d.
  Problem problem = small_problem();
  problem.task = Task::seq2seq;
  problem.dimension = 60;
  const AmpRun amp = run_amp(problem, quick_options(), 1);
  TrainOptions train;
  train.test_samples = 2000;
  const TrainedRun trained = run(problem, train, 1);
  EXPECT_EQ(amp.outcome, Outcome::converged);
  EXPECT_NEAR(amp.overlap, trained.overlap, 0.02 * trained.overlap);
  EXPECT_NEAR(amp.train_loss, trained.train_loss, 0.05 * trained.train_loss);
}

TEST(MessagePassing, StopsWhenAsked) {
  std::atomic<bool> stop = false;
  AmpOptions options = quick_options();
  options.stop = StopToken(stop);
  options.progress = [&](const Progress& progress) {
    if (progress.stage == "message passing" && progress.done >= 3) stop = true;
  };
  const AmpRun late = run_amp(small_problem(), options, 4);
  EXPECT_EQ(late.outcome, Outcome::interrupted);
  EXPECT_EQ(std::ssize(late.iterations), 3);
  EXPECT_GT(late.overlap, 0);
  const AmpRun early = run_amp(small_problem(), options, 4);
  EXPECT_EQ(early.outcome, Outcome::interrupted);
  EXPECT_TRUE(early.iterations.empty());
  EXPECT_TRUE(std::isnan(early.overlap));
}

TEST(MessagePassing, RefusesWhatItCannotDo) {
  Problem problem = small_problem();
  problem.parametrization = Parametrization::untied;
  problem.kappa = 0.5;
  EXPECT_THROW(require_message_passing(problem), InvalidParameter);
  problem.parametrization = Parametrization::direct;
  EXPECT_THROW(require_message_passing(problem), InvalidParameter);
  problem.parametrization = Parametrization::tied;
  EXPECT_NO_THROW(require_message_passing(problem));
  const auto refuses = [](auto&& change) {
    AmpOptions options;
    change(options);
    EXPECT_THROW(checked(options), InvalidParameter);
  };
  refuses([](AmpOptions& options) { options.tolerance = 0; });
  refuses([](AmpOptions& options) { options.tolerance = std::numeric_limits<double>::quiet_NaN(); });
  refuses([](AmpOptions& options) { options.max_iterations = 0; });
  refuses([](AmpOptions& options) { options.damping = 1; });
  refuses([](AmpOptions& options) { options.damping = -0.1; });
  refuses([](AmpOptions& options) { options.test_samples = 1; });
  refuses([](AmpOptions& options) { options.iterate_samples = 1; });
  EXPECT_NO_THROW(checked(AmpOptions{}));
}

}  // namespace
}  // namespace qklab::lab
