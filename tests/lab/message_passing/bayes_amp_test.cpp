#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/lab/message_passing/posterior_mean.hpp"

namespace qklab::lab {
namespace {

/// Off-diagonal variance 1/d: spectral radius 2.
Matrix goe(int d, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::probe);
  Matrix a(d, d);
  for (double& entry : a.reshaped()) entry = stream.normal();
  return (a + a.transpose()) / std::sqrt(2.0 * d);
}

Problem wishart(int d, double kappa0 = 0.5) {
  Problem problem;
  problem.dimension = d;
  problem.teacher = WishartTeacher{kappa0};
  return problem;
}

TEST(PosteriorMean, FindsTheLevelsOfTheTeacherInItsEigenvectors) {
  // The best function of the eigenvalues of X is v_i . S0 v_i; in mean square nothing comes closer to S0.
  const int d = 300;
  const Matrix teacher = draw_teacher(wishart(d), 1);
  for (double delta : {0.1, 0.5, 2.0}) {
    const Matrix x = teacher + delta * goe(d, 2);
    const PosteriorMean mean = wishart_posterior_mean(x, 0.5, delta);
    double least = overlap(teacher, teacher);
    for (double level : levels(teacher, symmetric_modes(x))) least -= level * level / d;
    const Matrix error = mean.matrix - teacher;
    EXPECT_GE(overlap(error, error), least - 1e-12);
    EXPECT_LT(overlap(error, error), 1.02 * least);
    EXPECT_NEAR(mean.variance, overlap(error, error), 0.04 * overlap(error, error));
    EXPECT_EQ(mean.matrix, Matrix(mean.matrix.transpose()));
  }
}

TEST(PosteriorMean, VarianceIsTheTraceOfItsDerivative) {
  const int d = 12;
  const double delta = 0.7;
  const Matrix x = draw_teacher(wishart(d), 3) + delta * goe(d, 4);
  const double step = 1e-4;
  double trace = 0;
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) {
      // An orthonormal basis of the symmetric matrices.
      Matrix direction = Matrix::Zero(d, d);
      direction(i, j) += i == j ? 1 : std::sqrt(0.5);
      direction(j, i) += i == j ? 0 : std::sqrt(0.5);
      const Matrix up = wishart_posterior_mean(x + step * direction, 0.5, delta).matrix;
      const Matrix down = wishart_posterior_mean(x - step * direction, 0.5, delta).matrix;
      trace += (up - down).cwiseProduct(direction).sum() / (2 * step);
    }
  }
  const double expected = 2 * delta * delta * trace / (d * d);
  EXPECT_NEAR(wishart_posterior_mean(x, 0.5, delta).variance, expected, 1e-5 * expected);
}

TEST(PosteriorMean, NoNoiseLeavesNothingToDo) {
  const Matrix teacher = draw_teacher(wishart(30), 3);
  EXPECT_LT((wishart_posterior_mean(teacher, 0.5, 1e-9).matrix - teacher).norm(), 1e-12);
  EXPECT_THROW(wishart_posterior_mean(teacher, 0.5, 0), InvalidParameter);
}

AmpOptions posterior(double tolerance, int iterations) {
  AmpOptions options;
  options.estimator = AmpEstimator::bayes;
  options.tolerance = tolerance;
  options.max_iterations = iterations;
  options.test_samples = 2000;
  return options;
}

TEST(BayesMessagePassing, RecoversFromEnoughScores) {
  for (int tokens : {2, 3}) {
    Problem problem = wishart(60);
    problem.tokens = tokens;
    problem.alpha = tokens == 2 ? 0.4 : 0.2;
    const AmpRun run = run_amp(problem, posterior(1e-6, 300), 1);
    EXPECT_EQ(run.outcome, Outcome::converged);
    EXPECT_LT(run.squared_error, 1e-9);
    EXPECT_TRUE(std::isnan(run.train_loss));
  }
}

TEST(BayesMessagePassing, KnowsItsOwnErrorAndTheOverlapOfATypicalSample) {
  // Nishimori: Tr(S S0)/d = Tr(S^2)/d and V = Tr((S - S0)^2)/d, up to a few times 1/d.
  constexpr int seeds = 3;
  for (int tokens : {2, 3}) {
    Problem problem = wishart(60);
    problem.activation = Activation::hardmax;
    problem.tokens = tokens;
    problem.alpha = tokens == 2 ? 1 : 0.3;
    problem.noise_in = 0.1;
    double overlaps = 0;
    double errors = 0;
    double hats = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      const AmpRun run = run_amp(problem, posterior(1e-3, 80), seed);
      overlaps += run.self_overlap.symmetric / run.overlap / seeds;
      errors += run.susceptibility.symmetric / run.squared_error / seeds;
      const AmpIteration& last = run.iterations.back();
      hats += last.self_overlap_hat.symmetric / last.susceptibility_hat.symmetric / seeds;
      EXPECT_LT(run.squared_error, 0.6);
    }
    const double finite_size = 6.0 / problem.dimension;
    EXPECT_NEAR(overlaps, 1, finite_size);
    EXPECT_NEAR(errors, 1, finite_size);
    EXPECT_NEAR(hats, 1, finite_size);
  }
}

TEST(BayesMessagePassing, HasNoStudent) {
  Problem problem = wishart(40);
  problem.alpha = 0.3;
  problem.noise_in = 0.2;
  const AmpRun run = run_amp(problem, posterior(1e-6, 10), 3);
  problem.parametrization = Parametrization::untied;
  problem.kappa = 0.3;
  problem.lambda = 2;
  const AmpRun other = run_amp(problem, posterior(1e-6, 10), 3);
  EXPECT_EQ(run.squared_error, other.squared_error);
  EXPECT_EQ(run.test_error.value, other.test_error.value);
}

TEST(BayesMessagePassing, MixedTokensShowTheSameScores) {
  Problem problem = wishart(40);
  problem.alpha = 0.3;
  const AmpRun labels = run_amp(problem, posterior(1e-6, 10), 3);
  problem.task = Task::seq2seq;
  const AmpRun mixed = run_amp(problem, posterior(1e-6, 10), 3);
  EXPECT_NEAR(labels.squared_error, mixed.squared_error, 1e-6);
}

TEST(BayesMessagePassing, RefusesWhatHasNoKnownPosterior) {
  const AmpOptions options = posterior(1e-6, 10);
  const auto refused = [&](auto change) {
    Problem problem = wishart(20);
    change(problem);
    EXPECT_THROW(run_amp(problem, options, 1), InvalidParameter);
  };
  refused([](Problem& problem) { problem.teacher = PowerLawTeacher{}; });
  refused([](Problem& problem) { problem.noise_out = 0.1; });
  refused([](Problem& problem) { problem.activation = Activation::hermite2; });
  refused([](Problem& problem) {
    problem.activation = Activation::hardmax;
    problem.tokens = 4;
  });
  Problem hardmax = wishart(20);
  hardmax.activation = Activation::hardmax;
  EXPECT_THROW(run_amp(hardmax, {}, 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::lab
