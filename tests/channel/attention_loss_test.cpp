#include "qklab/channel/attention_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "channel/every_target.hpp"
#include "channel/plain_channel.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using test::pair_of;
using test::plain_attention;

template <class Real>
struct Batch {
  int count;
  std::vector<Real> scores, correlation, gram;
};

template <class Real>
Batch<Real> random_batch(const Channel& channel, int count, double score_size) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  Batch<Real> batch{count, {}, {}, {}};
  const auto fill = [&](std::vector<Real>& values, int rows, double size) {
    values.resize(static_cast<std::size_t>(rows) * count);
    for (Real& value : values) value = static_cast<Real>(size * normal(generator));
  };
  fill(batch.scores, channel.pair_count(), score_size);
  fill(batch.correlation, channel.tokens * channel.tokens, 1.0);
  fill(batch.gram, channel.pair_count(), 0.5);
  return batch;
}

template <class Real>
std::vector<double> sample_of(const std::vector<Real>& rows, int count, int sample) {
  std::vector<double> values;
  for (std::size_t k = sample; k < rows.size(); k += count) values.push_back(rows[k]);
  return values;
}

/// sum_a [A_a C A_a^T - 2 A_a . R_a] of one sample; an empty gram is the identity.
double plain_loss(const Channel& channel, const std::vector<double>& scores,
                  const std::vector<double>& correlation, const std::vector<double>& gram) {
  const int tokens = channel.tokens;
  const std::vector<double> attention = plain_attention(channel, scores);
  double loss = 0;
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) {
      const double entry = attention[a * tokens + b];
      loss -= 2 * entry * correlation[a * tokens + b];
      for (int c = 0; c < tokens; ++c) {
        const double weight = gram.empty() ? (b == c ? 1.0 : 0.0) : gram[pair_of(tokens, b, c)];
        loss += entry * weight * attention[a * tokens + c];
      }
    }
  }
  return loss;
}

class AttentionLoss : public ::testing::TestWithParam<Channel> {};

TEST_P(AttentionLoss, AttentionMatchesTheDefinitionOnEveryTarget) {
  const Channel channel = GetParam();
  for (const int count : {1, 16, 37}) {
    const auto batch = random_batch<double>(channel, count, 3.0);
    const auto single = random_batch<float>(channel, count, 3.0);
    const int entries = channel.tokens * channel.tokens;
    test::for_every_target([&](const char* target) {
      std::vector<double> attention_double(entries * count);
      std::vector<float> attention_float(entries * count);
      attention(channel, count, batch.scores.data(), attention_double.data());
      attention(channel, count, single.scores.data(), attention_float.data());
      for (int sample = 0; sample < count; ++sample) {
        const auto want = plain_attention(channel, sample_of(batch.scores, count, sample));
        const auto want_float = plain_attention(channel, sample_of(single.scores, count, sample));
        for (int k = 0; k < entries; ++k) {
          // Rounding of beta h moves an entry by |beta h| eps; the softmax adds (T + 4) eps.
          const double bound = (channel.tokens + 4 + 12 * channel.beta) * std::abs(want[k]);
          const double bound_float = (channel.tokens + 4 + 12 * channel.beta) * std::abs(want_float[k]);
          EXPECT_NEAR(attention_double[k * count + sample], want[k],
                      bound * std::numeric_limits<double>::epsilon())
              << target;
          EXPECT_NEAR(attention_float[k * count + sample], want_float[k],
                      bound_float * std::numeric_limits<float>::epsilon())
              << target;
        }
      }
    });
  }
}

TEST_P(AttentionLoss, LossMatchesTheDefinition) {
  const Channel channel = GetParam();
  const int count = 531;
  const auto batch = random_batch<double>(channel, count, 1.0);
  std::vector<double> gradient(channel.pair_count() * count);
  for (const bool with_gram : {false, true}) {
    double want = 0;
    double size = 0;
    for (int sample = 0; sample < count; ++sample) {
      const double loss = plain_loss(
          channel, sample_of(batch.scores, count, sample), sample_of(batch.correlation, count, sample),
          with_gram ? sample_of(batch.gram, count, sample) : std::vector<double>{});
      want += loss;
      size += std::abs(loss);
    }
    const double got = loss_and_gradient(channel, count, batch.scores.data(), batch.correlation.data(),
                                         with_gram ? batch.gram.data() : nullptr, gradient.data());
    EXPECT_NEAR(got, want, 1e-13 * size);
  }
}

TEST_P(AttentionLoss, GradientMatchesFiniteDifferencesOnEveryTarget) {
  const Channel channel = GetParam();
  const int count = 19;
  const auto batch = random_batch<double>(channel, count, 0.8);
  std::vector<double> gradient(channel.pair_count() * count);
  test::for_every_target([&](const char* target) {
    for (const bool with_gram : {false, true}) {
      loss_and_gradient(channel, count, batch.scores.data(), batch.correlation.data(),
                        with_gram ? batch.gram.data() : nullptr, gradient.data());
      for (int sample = 0; sample < count; ++sample) {
        const auto scores = sample_of(batch.scores, count, sample);
        const auto correlation = sample_of(batch.correlation, count, sample);
        const auto gram = with_gram ? sample_of(batch.gram, count, sample) : std::vector<double>{};
        for (int k = 0; k < channel.pair_count(); ++k) {
          const double step = 1e-5;
          auto up = scores;
          auto down = scores;
          up[k] += step;
          down[k] -= step;
          const double slope =
              (plain_loss(channel, up, correlation, gram) - plain_loss(channel, down, correlation, gram)) /
              (2 * step);
          EXPECT_NEAR(gradient[k * count + sample], slope,
                      2e-8 * (1 + channel.beta * channel.beta * channel.beta))
              << target << " pair " << k;
        }
      }
    }
  });
}

TEST_P(AttentionLoss, SinglePrecisionFollowsDouble) {
  const Channel channel = GetParam();
  const int count = 1000;
  const auto single = random_batch<float>(channel, count, 1.0);
  const std::vector<double> scores(single.scores.begin(), single.scores.end());
  const std::vector<double> correlation(single.correlation.begin(), single.correlation.end());
  const std::vector<double> gram(single.gram.begin(), single.gram.end());
  std::vector<float> gradient(channel.pair_count() * count);
  std::vector<double> gradient_double(gradient.size());
  const double want = loss_and_gradient(channel, count, scores.data(), correlation.data(), gram.data(),
                                        gradient_double.data());
  test::for_every_target([&](const char* target) {
    const double got = loss_and_gradient(channel, count, single.scores.data(), single.correlation.data(),
                                         single.gram.data(), gradient.data());
    EXPECT_NEAR(got, want, 2e-6 * channel.tokens * count) << target;
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      EXPECT_NEAR(gradient[k], gradient_double[k],
                  1e-5 * (1 + channel.beta) * (1 + std::abs(gradient_double[k])))
          << target;
    }
  });
}

TEST_P(AttentionLoss, SamplesAreIndependentOfTheirBatch) {
  const Channel channel = GetParam();
  const int count = 45;
  const auto batch = random_batch<double>(channel, count, 1.0);
  std::vector<double> together(channel.pair_count() * count);
  loss_and_gradient<double>(channel, count, batch.scores.data(), batch.correlation.data(), nullptr,
                            together.data());
  std::vector<double> alone(channel.pair_count());
  for (const int sample : {0, 31, 44}) {
    std::vector<double> scores, correlation;
    for (const double value : sample_of(batch.scores, count, sample)) scores.push_back(value);
    for (const double value : sample_of(batch.correlation, count, sample)) correlation.push_back(value);
    loss_and_gradient<double>(channel, 1, scores.data(), correlation.data(), nullptr, alone.data());
    for (int k = 0; k < channel.pair_count(); ++k) EXPECT_EQ(alone[k], together[k * count + sample]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Channels, AttentionLoss,
    ::testing::Values(Channel{Activation::softmax, 2, 1.0}, Channel{Activation::softmax, 2, 4.0},
                      Channel{Activation::softmax, 3, 1.0}, Channel{Activation::softmax, 4, 0.7},
                      Channel{Activation::softmax, 5, 1.0}, Channel{Activation::softmax, 7, 2.0},
                      Channel{Activation::identity, 1, 1.0}, Channel{Activation::identity, 2, 1.0},
                      Channel{Activation::identity, 5, 1.0}),
    [](const auto& point) {
      return to_string(point.param.activation) + "T" + std::to_string(point.param.tokens) + "n" +
             std::to_string(point.index);
    });

TEST(AttentionLossEdge, SurvivesScoresFarBeyondTheExponential) {
  for (const int tokens : {2, 3, 6}) {
    const Channel channel{Activation::softmax, tokens, 1.0};
    std::vector<double> scores(channel.pair_count(), 0.0);
    scores[0] = 1e5;
    std::vector<double> weights(tokens * tokens);
    attention(channel, 1, scores.data(), weights.data());
    EXPECT_EQ(weights[0], 1.0);
    EXPECT_EQ(weights[1], 0.0);
    EXPECT_DOUBLE_EQ(weights[tokens], 1.0 / tokens);
  }
}

TEST(AttentionLossEdge, NaNIsHandedOn) {
  for (const int tokens : {2, 3}) {
    const Channel channel{Activation::softmax, tokens, 1.0};
    std::vector<float> scores(channel.pair_count(), 0.0F);
    scores[1] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> correlation(tokens * tokens, 0.5F);
    std::vector<float> gradient(channel.pair_count());
    EXPECT_TRUE(std::isnan(
        loss_and_gradient<float>(channel, 1, scores.data(), correlation.data(), nullptr, gradient.data())));
    EXPECT_TRUE(std::isnan(gradient[0]));
  }
}

TEST(AttentionLossEdge, OneTokenIdentityIsTheQuadraticLoss) {
  const Channel channel{Activation::identity, 1, 1.0};
  const double score = 0.7, label = -0.4;
  double gradient = 0;
  const double loss = loss_and_gradient<double>(channel, 1, &score, &label, nullptr, &gradient);
  EXPECT_DOUBLE_EQ(loss + label * label, (score - label) * (score - label));
  EXPECT_DOUBLE_EQ(gradient, 2 * (score - label));
}

TEST(AttentionLossEdge, RefusesOneTokenSoftmax) {
  double value = 0;
  EXPECT_THROW(attention(Channel{Activation::softmax, 1, 1.0}, 1, &value, &value), InvalidParameter);
}

}  // namespace
}  // namespace qklab
