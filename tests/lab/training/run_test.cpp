#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Eigenvalues>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "lab/plain_model.hpp"
#include "lab/training_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

Problem small_problem() {
  Problem problem;
  problem.dimension = 20;
  problem.alpha = 1;
  problem.lambda = 0.03;
  problem.noise_in = 0.2;
  return problem;
}

TrainOptions quick_options() {
  TrainOptions options;
  options.test_samples = 2000;
  return options;
}

double objective(const TrainedRun& run) {
  return run.train_loss + run.regularization;
}

TEST(Run, MeasuresItsOwnMinimiser) {
  const TrainedRun result = run(small_problem(), quick_options(), 4);
  EXPECT_EQ(result.outcome, Outcome::converged);
  EXPECT_EQ(result.seed, 4u);
  ASSERT_EQ(std::ssize(result.eigenvalues), 20);
  EXPECT_TRUE(std::is_sorted(result.eigenvalues.begin(), result.eigenvalues.end()));
  const auto& s = result.eigenvalues;
  EXPECT_NEAR(result.self_overlap, std::inner_product(s.begin(), s.end(), s.begin(), 0.0) / 20, 1e-12);
  EXPECT_NEAR(result.regularization, 0.03 * std::accumulate(s.begin(), s.end(), 0.0) / 20, 1e-12);
  EXPECT_GT(result.test_error.se, 0);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.epochs, 1);
  const Matrix teacher = draw_teacher(small_problem(), 4);
  EXPECT_LE(std::abs(result.overlap), std::sqrt(result.self_overlap * overlap(teacher, teacher)));
}

TEST(Run, MeasurementsOfEveryStudentFitTogether) {
  const auto sum_of_products = [](const std::vector<double>& left, const std::vector<double>& right) {
    return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
  };
  const Matrix teacher = draw_teacher(small_problem(), 4);
  for (Parametrization parametrization :
       {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    Problem problem = small_problem();
    problem.parametrization = parametrization;
    problem.noise_out = 0.1;
    const TrainedRun result = run(problem, quick_options(), 4);
    EXPECT_EQ(result.outcome, Outcome::converged);
    for (const auto* values :
         {&result.eigenvalues, &result.teacher_eigenvalues, &result.alignments, &result.teacher_levels}) {
      ASSERT_EQ(std::ssize(*values), 20);
    }
    const auto& s = result.eigenvalues;
    EXPECT_NEAR(result.self_overlap, sum_of_products(s, s) / 20, 1e-13);
    // Tr(S S0) = sum_i s_i v_i^T S0 v_i.
    EXPECT_NEAR(result.overlap, sum_of_products(s, result.teacher_levels) / 20, 1e-13);
    const auto& s0 = result.teacher_eigenvalues;
    EXPECT_NEAR(sum_of_products(s0, s0), teacher.squaredNorm(), 1e-12);
    const auto& levels = result.teacher_levels;
    EXPECT_NEAR(std::accumulate(levels.begin(), levels.end(), 0.0), teacher.trace(), 1e-12);
    for (double alignment : result.alignments) {
      EXPECT_GE(alignment, 0);
      EXPECT_LE(alignment, 1 + 1e-12);
    }
    if (parametrization == Parametrization::untied) {
      const auto& values = result.singular_values;
      ASSERT_EQ(std::ssize(values), 20);
      EXPECT_NEAR(result.self_overlap + result.antisymmetric_self_overlap,
                  sum_of_products(values, values) / 20, 1e-13);
      EXPECT_GT(result.antisymmetric_self_overlap, 1e-3) << "label noise is not symmetric";
      // |U|^2 + |V|^2 is twice the nuclear norm of S where it is smallest.
      const double nuclear_norm = std::accumulate(values.begin(), values.end(), 0.0);
      EXPECT_NEAR(result.regularization, 0.03 / 20 * nuclear_norm, 1e-4 * result.regularization);
    } else {
      EXPECT_TRUE(result.singular_values.empty());
      EXPECT_EQ(result.antisymmetric_self_overlap, 0);
    }
    if (parametrization == Parametrization::direct) {
      EXPECT_NEAR(result.regularization, 0.03 * result.self_overlap, 1e-13);
      EXPECT_LT(s.front(), 0) << "nothing keeps a direct student positive";
    }
  }
}

TEST(Run, LearnedModesAlign) {
  // Clean labels, more than enough of them, and little decay: S is S0 and so are its eigenvectors.
  for (Parametrization parametrization :
       {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    Problem problem = small_problem();
    problem.parametrization = parametrization;
    problem.activation = Activation::identity;
    problem.noise_in = 0;
    problem.alpha = 2;
    problem.lambda = 1e-4;
    problem.teacher = SpectrumTeacher{"list", {5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
    const TrainedRun result = run(problem, quick_options(), 4);
    for (int i = 15; i < 20; ++i) {
      EXPECT_NEAR(result.teacher_eigenvalues[i], i - 14, 1e-12);
      EXPECT_NEAR(result.eigenvalues[i], i - 14, 1e-2);
      EXPECT_NEAR(result.alignments[i], 1, 1e-3);
      EXPECT_NEAR(result.teacher_levels[i], i - 14, 1e-2);
    }
  }
}

TEST(Run, IsAFunctionOfTheSeedOnly) {
  const int budget = omp_get_max_threads();
  Problem problem = small_problem();
  problem.dimension = 50;  // large enough for two threads
  for (Parametrization parametrization :
       {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    problem.parametrization = parametrization;
    TrainOptions options = quick_options();
    options.precision = parametrization == Parametrization::tied ? Precision::f32 : Precision::f64;
    options.max_epochs = 40;
    omp_set_num_threads(1);
    const TrainedRun one = run(problem, options, 4);
    omp_set_num_threads(2);
    const TrainedRun two = run(problem, options, 4);
    omp_set_num_threads(budget);
    EXPECT_EQ(two.test_error.value, one.test_error.value);
    EXPECT_EQ(two.train_loss, one.train_loss);
    EXPECT_EQ(two.overlap, one.overlap);
    EXPECT_EQ(two.eigenvalues, one.eigenvalues);
    EXPECT_EQ(two.singular_values, one.singular_values);
    EXPECT_EQ(two.alignments, one.alignments);
    EXPECT_EQ(two.teacher_levels, one.teacher_levels);
    EXPECT_EQ(two.epochs, one.epochs);
    EXPECT_EQ(two.gradient_norm, one.gradient_norm);
    EXPECT_NE(run(problem, options, 5).overlap, one.overlap);
  }
}

TEST(Run, SeedsMayRunSideBySide) {
  Problem problem = small_problem();
  problem.dimension = 40;
  TrainOptions options = quick_options();
  options.max_epochs = 30;
  std::vector<TrainedRun> together(4);
#pragma omp parallel for num_threads(4)
  for (int seed = 0; seed < 4; ++seed)
    together[seed] = run(problem, options, static_cast<std::uint64_t>(seed));
  for (int seed = 0; seed < 4; ++seed) {
    const TrainedRun alone = run(problem, options, static_cast<std::uint64_t>(seed));
    EXPECT_EQ(together[seed].eigenvalues, alone.eigenvalues);
    EXPECT_EQ(together[seed].test_error.value, alone.test_error.value);
    EXPECT_EQ(together[seed].train_loss, alone.train_loss);
  }
}

class EveryRun : public testing::TestWithParam<NamedProblem> {};

class EveryWideRun : public testing::TestWithParam<NamedProblem> {};

TEST_P(EveryWideRun, OptimizersAndPrecisionsAgree) {
  const Problem& problem = GetParam().problem;
  TrainOptions options = quick_options();
  options.max_epochs = 100000;
  options.gradient_tolerance = 1e-7;
  const TrainedRun reference = run(problem, options, 1);
  ASSERT_EQ(reference.outcome, Outcome::converged);
  const auto expect_same = [&](double tolerance) {
    const TrainedRun other = run(problem, options, 1);
    EXPECT_EQ(other.outcome, Outcome::converged);
    EXPECT_NEAR(objective(other), objective(reference), tolerance * objective(reference));
    // |S - S'|^2/d = q + q' - 2 m', so q and m near to the teacher fix S through both.
    EXPECT_NEAR(other.self_overlap, reference.self_overlap, 1e-4 * reference.self_overlap);
    EXPECT_NEAR(other.overlap, reference.overlap, 1e-4 * reference.overlap);
    for (std::size_t i = 0; i < reference.eigenvalues.size(); ++i) {
      EXPECT_NEAR(other.eigenvalues[i], reference.eigenvalues[i], 1e-4 * reference.eigenvalues.back());
    }
  };
  options.optimizer = Optimizer::adam;
  expect_same(1e-9);
  options.optimizer = Optimizer::gradient_descent;
  options.gradient_tolerance = 1e-6;
  expect_same(1e-8);
  options.optimizer = Optimizer::lbfgs;
  options.precision = Precision::f32;
  options.gradient_tolerance = 1e-5;
  expect_same(1e-6);
}

TEST_P(EveryRun, LowersTheObjectiveAndStaysWithinItsRank) {
  const Problem& problem = GetParam().problem;
  const TrainedRun result = run(problem, quick_options(), 2);
  EXPECT_TRUE(is_answer(result.outcome));
  const Matrix zero = Matrix::Zero(problem.dimension, 1);
  EXPECT_LE(objective(result), plain::objective(problem, draw_teacher(problem, 2), zero, 2) * (1 + 1e-12));
  const double smallest_zero_fraction = 1 - static_cast<double>(student_width(problem)) / problem.dimension;
  EXPECT_GE(result.zero_fraction, smallest_zero_fraction - 1e-12);
}

/// Students of full width have one minimiser in S; narrow ones may have several.
std::vector<NamedProblem> wide_problems() {
  std::vector<NamedProblem> problems = with_every_parametrization(small_problems());
  std::erase_if(problems, [](const NamedProblem& named) { return named.problem.kappa < 1; });
  return problems;
}

INSTANTIATE_TEST_SUITE_P(Small, EveryWideRun, testing::ValuesIn(wide_problems()),
                         [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(Small, EveryRun, testing::ValuesIn(with_every_parametrization(small_problems())),
                         [](const auto& param) { return param.param.name; });

/// Minus the gradient of the data term at S = 0 for T = 1: (2/d^2) sum_mu y (x x^T - I)/sqrt d.
Matrix descent_direction_at_zero(const Problem& problem, std::uint64_t seed) {
  const double d = problem.dimension;
  const Matrix teacher = draw_teacher(problem, seed);
  Matrix correlation = Matrix::Zero(problem.dimension, problem.dimension);
  for (long sample = 0; sample < sample_count(problem); ++sample) {
    const Matrix x = plain::tokens(problem, seed, sample);
    const double y = plain::label(problem, teacher, seed, sample)(0, 0);
    correlation += 2 / (d * d) * y *
                   (x.transpose() * x - Matrix::Identity(problem.dimension, problem.dimension)) /
                   std::sqrt(d);
  }
  return correlation;
}

/// Smallest weight decay at which S = 0 is the minimiser when the loss is convex: d times the largest
/// eigenvalue of the descent direction at S = 0, of either sign for an untied student.
double largest_useful_weight_decay(const Problem& problem, std::uint64_t seed) {
  const Matrix direction = descent_direction_at_zero(problem, seed);
  const Eigen::VectorXd levels = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(direction).eigenvalues();
  const bool tied = problem.parametrization == Parametrization::tied;
  return problem.dimension * (tied ? levels.maxCoeff() : levels.cwiseAbs().maxCoeff());
}

void expect_zero_beyond_its_threshold(Problem problem, Optimizer optimizer) {
  problem.activation = Activation::identity;
  problem.tokens = 1;
  const double threshold = largest_useful_weight_decay(problem, 6);
  TrainOptions options = quick_options();
  options.optimizer = optimizer;
  problem.lambda = 1.05 * threshold;
  const TrainedRun zero = run(problem, options, 6);
  EXPECT_EQ(zero.outcome, Outcome::zero_solution);
  EXPECT_EQ(zero.self_overlap, 0);
  EXPECT_EQ(zero.regularization, 0);
  EXPECT_EQ(zero.zero_fraction, 1);
  EXPECT_EQ(zero.gradient_norm, 0);
  const Matrix teacher = draw_teacher(problem, 6);
  EXPECT_NEAR(zero.test_error.value, 2 * overlap(teacher, teacher), 4 * zero.test_error.se);
  problem.lambda = 0.95 * threshold;
  const TrainedRun learned = run(problem, options, 6);
  EXPECT_EQ(learned.outcome, Outcome::converged);
  EXPECT_GT(learned.self_overlap, 1e-4);
}

TEST(Run, LargeWeightDecayGivesTheZeroSolution) {
  Problem problem = small_problem();
  for (Optimizer optimizer : {Optimizer::lbfgs, Optimizer::adam, Optimizer::gradient_descent}) {
    problem.parametrization = Parametrization::tied;
    expect_zero_beyond_its_threshold(problem, optimizer);
    problem.parametrization = Parametrization::untied;
    expect_zero_beyond_its_threshold(problem, optimizer);
  }
}

TEST(Run, LargeWeightDecayOnlyShrinksADirectStudent) {
  // 2 (lambda/d) S = -grad f(S) -> -grad f(0) as lambda grows.
  Problem problem = small_problem();
  problem.activation = Activation::identity;
  problem.tokens = 1;
  problem.parametrization = Parametrization::direct;
  problem.lambda = 1e6;
  TrainOptions options = quick_options();
  options.gradient_tolerance = 1e-12;
  const TrainedRun shrunk = run(problem, options, 6);
  const Matrix s = descent_direction_at_zero(problem, 6) * problem.dimension / (2 * problem.lambda);
  EXPECT_EQ(shrunk.outcome, Outcome::converged);
  EXPECT_NEAR(shrunk.self_overlap, overlap(s, s), 1e-4 * overlap(s, s));
  EXPECT_NEAR(shrunk.overlap, overlap(s, draw_teacher(problem, 6)), 1e-4 * shrunk.overlap);
}

TEST(Run, ScalingTheTeacherChangesNothing) {
  Problem problem = small_problem();
  problem.activation = Activation::identity;
  const auto scaled_run = [&](double scale, Optimizer optimizer) {
    std::vector<double> eigenvalues(20, 0.0);
    for (int i = 0; i < 8; ++i) eigenvalues[i] = scale * (i + 1) / 4;
    problem.teacher = SpectrumTeacher{"scaled", eigenvalues};
    problem.noise_in = 0.2 * scale * scale;
    problem.lambda = 0.1 * scale;
    TrainOptions options = quick_options();
    options.optimizer = optimizer;
    return run(problem, options, 3);
  };
  for (Optimizer optimizer : {Optimizer::lbfgs, Optimizer::adam, Optimizer::gradient_descent}) {
    const TrainedRun one = scaled_run(1, optimizer);
    for (double scale : {0x1p-20, 0x1p20}) {
      const TrainedRun other = scaled_run(scale, optimizer);
      EXPECT_EQ(other.outcome, Outcome::converged);
      EXPECT_NEAR(other.self_overlap / (scale * scale), one.self_overlap, 1e-4 * one.self_overlap);
      EXPECT_NEAR(objective(other) / (scale * scale), objective(one), 1e-7 * objective(one));
      EXPECT_NEAR(static_cast<double>(other.epochs), static_cast<double>(one.epochs),
                  0.2 * static_cast<double>(one.epochs));
    }
  }
}

TEST(Run, StopReturnsTheBestPointSoFar) {
  std::atomic<bool> stop = false;
  TrainOptions options = quick_options();
  options.stop = StopToken(stop);
  options.progress = [&](const Progress& progress) {
    if (progress.stage == "training" && progress.done >= 6) stop = true;
  };
  const TrainedRun interrupted = run(small_problem(), options, 4);
  EXPECT_EQ(interrupted.outcome, Outcome::interrupted);
  EXPECT_FALSE(is_answer(interrupted.outcome));
  EXPECT_EQ(interrupted.epochs, 6);
  const TrainedRun finished = run(small_problem(), quick_options(), 4);
  EXPECT_GT(objective(interrupted), objective(finished));
  EXPECT_TRUE(std::isfinite(interrupted.test_error.value));

  const TrainedRun before_the_data = run(small_problem(), options, 4);
  EXPECT_EQ(before_the_data.outcome, Outcome::interrupted);
  EXPECT_EQ(before_the_data.epochs, 0);
  EXPECT_TRUE(std::isnan(before_the_data.train_loss));
  EXPECT_TRUE(std::isnan(before_the_data.test_error.value));
}

TEST(Run, BudgetOfEpochsIsReported) {
  TrainOptions options = quick_options();
  options.max_epochs = 5;
  const TrainedRun result = run(small_problem(), options, 4);
  EXPECT_EQ(result.outcome, Outcome::iteration_limit);
  EXPECT_EQ(result.epochs, 5);
}

template <class Exception>
std::string message_of(const Problem& problem, const TrainOptions& options = {}) {
  try {
    run(problem, options, 1);
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Run, RefusesWhatDoesNotFitInMemory) {
  Problem problem;
  problem.dimension = 20000;
  const std::string message = message_of<ResourceError>(problem);
  EXPECT_NE(message.find("dimension = 20000"), std::string::npos) << message;
  EXPECT_NE(message.find("n = 4e+08 samples"), std::string::npos) << message;
  EXPECT_NE(message.find("GiB"), std::string::npos) << message;
  problem.dimension = 200;
  problem.kappa = 1e9;
  EXPECT_NE(message_of<ResourceError>(problem).find("kappa = 1e+09"), std::string::npos);
}

TEST(Run, NamesWhatItCannotTrain) {
  Problem problem;
  problem.dimension = 10;
  problem.activation = Activation::hermite3;
  EXPECT_EQ(message_of<InvalidParameter>(problem),
            "activation = hermite3: training is available for softmax, identity");
  problem.activation = Activation::hardmax;
  EXPECT_EQ(message_of<InvalidParameter>(problem),
            "activation = hardmax: training is available for softmax, identity");
  problem.activation = Activation::softmax;
  problem.parametrization = Parametrization::direct;
  problem.kappa = 0.5;
  EXPECT_EQ(message_of<InvalidParameter>(problem), "kappa = 0.5: a direct student has no width: must be 1");
  problem.kappa = 1;
  problem.task = Task::seq2seq;
  problem.tokens = 11;
  EXPECT_EQ(message_of<InvalidParameter>(problem),
            "tokens = 11: task seq2seq needs linearly independent tokens: T must be <= dimension = 10");
  problem.tokens = 10;
  EXPECT_NO_THROW(require_trainable(problem));
}

TEST(Run, RefusesBadNumbers) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Problem problem;
  problem.dimension = 10;
  problem.lambda = nan;
  EXPECT_THROW(run(problem, {}, 1), InvalidParameter);
  problem.lambda = 0.1;
  problem.teacher = SpectrumTeacher{"list", {1, 2, 3}};
  EXPECT_NE(message_of<InvalidParameter>(problem).find("dimension = 10"), std::string::npos);
  problem.teacher = WishartTeacher{};
  TrainOptions options;
  options.gradient_tolerance = nan;
  EXPECT_NE(message_of<InvalidParameter>(problem, options).find("gradient_tolerance"), std::string::npos);
  options = {};
  options.max_epochs = 0;
  EXPECT_NE(message_of<InvalidParameter>(problem, options).find("max_epochs"), std::string::npos);
  options = {};
  options.learning_rate = -1;
  EXPECT_NE(message_of<InvalidParameter>(problem, options).find("learning_rate"), std::string::npos);
  options = {};
  options.test_samples = 0;
  EXPECT_NE(message_of<InvalidParameter>(problem, options).find("test_samples"), std::string::npos);
}

TEST(Run, SmallestSizesWork) {
  Problem problem = small_problem();
  problem.dimension = 1;
  problem.alpha = 0.3;
  EXPECT_TRUE(std::isfinite(run(problem, quick_options(), 1).test_error.value));
  problem.dimension = 2;
  problem.kappa = 0.1;
  EXPECT_TRUE(std::isfinite(run(problem, quick_options(), 1).test_error.value));
}

TEST(Options, NamesRoundTrip) {
  for (Optimizer optimizer : {Optimizer::lbfgs, Optimizer::adam, Optimizer::gradient_descent, Optimizer::amp,
                              Optimizer::automatic}) {
    EXPECT_EQ(parse_optimizer(to_string(optimizer)), optimizer);
  }
  for (Precision precision : {Precision::f32, Precision::f64}) {
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
  }
  EXPECT_THROW(parse_optimizer("sgd"), InvalidParameter);
  EXPECT_THROW(parse_precision("f16"), InvalidParameter);
}

}  // namespace
}  // namespace qklab::lab
