#include "qklab/lab/data/dataset.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Dense>
#include <cmath>
#include <utility>

#include "lab/plain_model.hpp"
#include "lab/training_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/data/token_blocks.hpp"

namespace qklab::lab {
namespace {

constexpr std::uint64_t seed = 11;

class EveryDataset : public testing::TestWithParam<NamedProblem> {};

TEST_P(EveryDataset, IsTheDefinitionSampleBySample) {
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, seed);
  const Dataset<double> data = draw_dataset<double>(problem, teacher, seed);
  ASSERT_EQ(data.samples, sample_count(problem));
  const int tokens = problem.tokens;
  double constant = 0;
  for (long sample = 0; sample < data.samples; ++sample) {
    const Matrix x = plain::tokens(problem, seed, sample);
    const Eigen::Map<const Matrix> stored(data.inputs.data() + sample * x.size(), x.rows(), x.cols());
    ASSERT_EQ(stored, x);
    const Matrix y = plain::label(problem, teacher, seed, sample);
    const bool mixed = problem.task == Task::seq2seq;
    const Matrix correlation = mixed ? Matrix(y * x.transpose() / problem.dimension) : y;
    const Matrix gram = x * x.transpose() / problem.dimension;
    for (int a = 0, pair = 0; a < tokens; ++a) {
      for (int b = 0; b < tokens; ++b) {
        ASSERT_NEAR(data.correlation[(a * tokens + b) * data.samples + sample], correlation(a, b), 1e-12);
        if (b < a || !mixed) continue;
        ASSERT_NEAR(data.gram[pair++ * data.samples + sample], gram(a, b), 1e-13);
      }
    }
    constant += mixed ? (correlation * gram.inverse() * correlation.transpose()).trace() : y.squaredNorm();
  }
  EXPECT_NEAR(data.constant, constant, 1e-10 * constant);
}

TEST_P(EveryDataset, ThreadsChangeNothing) {
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, seed);
  const int budget = omp_get_max_threads();
  omp_set_num_threads(1);
  const Dataset<double> one = draw_dataset<double>(problem, teacher, seed);
  omp_set_num_threads(3);
  const Dataset<double> many = draw_dataset<double>(problem, teacher, seed);
  omp_set_num_threads(budget);
  EXPECT_EQ(many.inputs, one.inputs);
  EXPECT_EQ(many.correlation, one.correlation);
  EXPECT_EQ(many.gram, one.gram);
  EXPECT_EQ(many.constant, one.constant);
}

template <class Real>
void expect_the_same_tokens(const Dataset<Real>& stored, const Dataset<Real>& regenerated) {
  EXPECT_TRUE(regenerated.inputs.empty());
  EXPECT_EQ(regenerated.correlation, stored.correlation);
  EXPECT_EQ(regenerated.gram, stored.gram);
  EXPECT_EQ(regenerated.constant, stored.constant);
  TokenBlocks<Real> kept(stored);
  TokenBlocks<Real> drawn(regenerated);
  const long entries = long{stored.tokens} * stored.dimension;
  for (const auto& [first, count] : {std::pair{0L, 5}, {3L, 70}, {stored.samples - 1, 1}}) {
    const Real* x = kept.read(first, count);
    EXPECT_EQ(x, stored.inputs.data() + first * entries);
    EXPECT_TRUE(std::equal(x, x + count * entries, drawn.read(first, count)));
  }
}

TEST_P(EveryDataset, RegeneratedTokensAreTheStoredOnes) {
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, seed);
  const DrawOptions again{.storage = TokenStorage::regenerated, .progress = {}, .stop = {}};
  expect_the_same_tokens(draw_dataset<double>(problem, teacher, seed),
                         draw_dataset<double>(problem, teacher, seed, again));
  expect_the_same_tokens(draw_dataset<float>(problem, teacher, seed),
                         draw_dataset<float>(problem, teacher, seed, again));
}

TEST_P(EveryDataset, SinglePrecisionRoundsTheSameTokens) {
  const Problem& problem = GetParam().problem;
  const Matrix teacher = draw_teacher(problem, seed);
  const Dataset<double> exact = draw_dataset<double>(problem, teacher, seed);
  const Dataset<float> rounded = draw_dataset<float>(problem, teacher, seed);
  for (std::size_t i = 0; i < exact.inputs.size(); ++i) {
    ASSERT_EQ(rounded.inputs[i], static_cast<float>(exact.inputs[i]));
  }
  EXPECT_EQ(rounded.correlation, exact.correlation);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryDataset, testing::ValuesIn(small_problems()),
                         [](const auto& param) { return param.param.name; });

TEST(Dataset, MoreSamplesExtendFewer) {
  Problem problem;
  problem.dimension = 16;
  problem.noise_in = 0.2;
  problem.alpha = 0.7;
  const Matrix teacher = draw_teacher(problem, seed);
  const Dataset<double> few = draw_dataset<double>(problem, teacher, seed);
  problem.alpha = 1.9;
  const Dataset<double> many = draw_dataset<double>(problem, teacher, seed);
  EXPECT_TRUE(std::equal(few.inputs.begin(), few.inputs.end(), many.inputs.begin()));
  for (long ab = 0; ab < 4; ++ab) {
    for (long sample = 0; sample < few.samples; ++sample) {
      ASSERT_NEAR(many.correlation[ab * many.samples + sample], few.correlation[ab * few.samples + sample],
                  1e-14);
    }
  }
}

std::vector<double> squares(const double* values, long count) {
  std::vector<double> result(values, values + count);
  for (double& value : result) value *= value;
  return result;
}

TEST(Dataset, ScoresHaveTheirVariances) {
  // Identity labels without noise are the scores: exactly (1 + delta_ab) Tr(S0^2)/d for a given teacher.
  Problem problem;
  problem.dimension = 50;
  problem.alpha = 4;
  problem.tokens = 3;
  problem.activation = Activation::identity;
  const Matrix teacher = draw_teacher(problem, seed);
  const double q0 = teacher.squaredNorm() / problem.dimension;
  for (double noise_in : {0.0, 0.6}) {
    for (double noise_out : {0.0, 0.8}) {
      problem.noise_in = noise_in;
      problem.noise_out = noise_out;
      const Dataset<double> data = draw_dataset<double>(problem, teacher, seed);
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
          const Estimate variance =
              mean_and_error(squares(data.correlation.data() + (a * 3 + b) * data.samples, data.samples));
          EXPECT_NEAR(variance.value, (a == b ? 2 : 1) * (q0 + noise_in) + noise_out, 4.5 * variance.se);
        }
      }
      std::vector<double> asymmetry(static_cast<std::size_t>(data.samples));
      for (long s = 0; s < data.samples; ++s) {
        asymmetry[s] = data.correlation[data.samples + s] - data.correlation[3 * data.samples + s];
      }
      const Estimate variance = mean_and_error(squares(asymmetry.data(), data.samples));
      EXPECT_NEAR(variance.value, 2 * noise_out, 4.5 * variance.se + 1e-20);
    }
  }
}

TEST(Dataset, MixedTokensCarryTheNoiseOfTheAttentionMatrix) {
  // R C^-1 = A0 + noise of variance noise_out (1 + O(T/d)) for each entry of the attention matrix.
  Problem problem;
  problem.dimension = 120;
  problem.alpha = 0.5;
  problem.task = Task::seq2seq;
  problem.noise_out = 0.3;
  const Matrix teacher = draw_teacher(problem, seed);
  const Dataset<double> noisy = draw_dataset<double>(problem, teacher, seed);
  problem.noise_out = 0;
  const Dataset<double> clean = draw_dataset<double>(problem, teacher, seed);
  const long n = noisy.samples;
  for (int ab = 0; ab < 4; ++ab) {
    std::vector<double> noise(static_cast<std::size_t>(n));
    for (long s = 0; s < n; ++s) noise[s] = noisy.correlation[ab * n + s] - clean.correlation[ab * n + s];
    const Estimate variance = mean_and_error(squares(noise.data(), n));
    EXPECT_NEAR(variance.value, 0.3, 4 * variance.se);
  }
  // The constant loses the d - T directions that no attention matrix reaches.
  const double excess = (noisy.constant - clean.constant) / static_cast<double>(n);
  EXPECT_NEAR(excess, 0.3 * 4, 0.05);
}

TEST(Dataset, NeedsIndependentTokensToMix) {
  Problem problem;
  problem.dimension = 3;
  problem.tokens = 4;
  problem.task = Task::seq2seq;
  EXPECT_THROW(draw_dataset<double>(problem, draw_teacher(problem, 1), 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::lab
