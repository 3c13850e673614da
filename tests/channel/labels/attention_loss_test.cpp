#include "qklab/channel/labels/attention_loss.hpp"

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

/// A channel, and how its scores are stored.
struct Case {
  Channel channel;
  ScoreLayout layout;
};

template <class Real>
struct Batch {
  int count;
  std::vector<Real> scores, correlation, gram;
};

template <class Real>
Batch<Real> random_batch(const Case& of, int count, double score_size) {
  const Channel& channel = of.channel;
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  Batch<Real> batch{count, {}, {}, {}};
  const auto fill = [&](std::vector<Real>& values, int rows, double size) {
    values.resize(static_cast<std::size_t>(rows) * count);
    for (Real& value : values) value = static_cast<Real>(size * normal(generator));
  };
  fill(batch.scores, channel.score_count(of.layout), score_size);
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
double plain_loss(const Case& of, const std::vector<double>& scores, const std::vector<double>& correlation,
                  const std::vector<double>& gram) {
  const int tokens = of.channel.tokens;
  const std::vector<double> attention = plain_attention(of.channel, scores, of.layout);
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

class AttentionLoss : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionLoss, AttentionMatchesTheDefinitionOnEveryTarget) {
  const auto& channel = GetParam().channel;
  const auto& layout = GetParam().layout;
  for (const int count : {1, 16, 37}) {
    const auto batch = random_batch<double>(GetParam(), count, 3.0);
    const auto single = random_batch<float>(GetParam(), count, 3.0);
    const int entries = channel.tokens * channel.tokens;
    test::for_every_target([&](const char* target) {
      std::vector<double> attention_double(entries * count);
      std::vector<float> attention_float(entries * count);
      attention(channel, count, batch.scores.data(), attention_double.data(), layout);
      attention(channel, count, single.scores.data(), attention_float.data(), layout);
      for (int sample = 0; sample < count; ++sample) {
        const auto want = plain_attention(channel, sample_of(batch.scores, count, sample), layout);
        const auto want_float = plain_attention(channel, sample_of(single.scores, count, sample), layout);
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
  const auto [channel, layout] = GetParam();
  const int count = 531;
  const auto batch = random_batch<double>(GetParam(), count, 1.0);
  std::vector<double> gradient(channel.score_count(layout) * count);
  for (const bool with_gram : {false, true}) {
    double want = 0;
    double size = 0;
    for (int sample = 0; sample < count; ++sample) {
      const double loss = plain_loss(
          GetParam(), sample_of(batch.scores, count, sample), sample_of(batch.correlation, count, sample),
          with_gram ? sample_of(batch.gram, count, sample) : std::vector<double>{});
      want += loss;
      size += std::abs(loss);
    }
    const double got = loss_and_gradient(channel, count, batch.scores.data(), batch.correlation.data(),
                                         with_gram ? batch.gram.data() : nullptr, gradient.data(), layout);
    EXPECT_NEAR(got, want, 1e-13 * size);
  }
}

TEST_P(AttentionLoss, GradientMatchesFiniteDifferencesOnEveryTarget) {
  const auto& channel = GetParam().channel;
  const auto& layout = GetParam().layout;
  const int count = 19;
  const auto batch = random_batch<double>(GetParam(), count, 0.8);
  std::vector<double> gradient(channel.score_count(layout) * count);
  test::for_every_target([&](const char* target) {
    for (const bool with_gram : {false, true}) {
      loss_and_gradient(channel, count, batch.scores.data(), batch.correlation.data(),
                        with_gram ? batch.gram.data() : nullptr, gradient.data(), layout);
      for (int sample = 0; sample < count; ++sample) {
        const auto scores = sample_of(batch.scores, count, sample);
        const auto correlation = sample_of(batch.correlation, count, sample);
        const auto gram = with_gram ? sample_of(batch.gram, count, sample) : std::vector<double>{};
        for (int k = 0; k < channel.score_count(layout); ++k) {
          const double step = 1e-5;
          auto up = scores;
          auto down = scores;
          up[k] += step;
          down[k] -= step;
          const double slope = (plain_loss(GetParam(), up, correlation, gram) -
                                plain_loss(GetParam(), down, correlation, gram)) /
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
  const auto& channel = GetParam().channel;
  const auto& layout = GetParam().layout;
  const int count = 1000;
  const auto single = random_batch<float>(GetParam(), count, 1.0);
  const std::vector<double> scores(single.scores.begin(), single.scores.end());
  const std::vector<double> correlation(single.correlation.begin(), single.correlation.end());
  const std::vector<double> gram(single.gram.begin(), single.gram.end());
  std::vector<float> gradient(channel.score_count(layout) * count);
  std::vector<double> gradient_double(gradient.size());
  const double want = loss_and_gradient(channel, count, scores.data(), correlation.data(), gram.data(),
                                        gradient_double.data(), layout);
  test::for_every_target([&](const char* target) {
    const double got = loss_and_gradient(channel, count, single.scores.data(), single.correlation.data(),
                                         single.gram.data(), gradient.data(), layout);
    EXPECT_NEAR(got, want, 2e-6 * channel.tokens * count) << target;
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      EXPECT_NEAR(gradient[k], gradient_double[k],
                  1e-5 * (1 + channel.beta) * (1 + std::abs(gradient_double[k])))
          << target;
    }
  });
}

TEST_P(AttentionLoss, SamplesAreIndependentOfTheirBatch) {
  const auto [channel, layout] = GetParam();
  const int count = 45;
  const auto batch = random_batch<double>(GetParam(), count, 1.0);
  std::vector<double> together(channel.score_count(layout) * count);
  loss_and_gradient<double>(channel, count, batch.scores.data(), batch.correlation.data(), nullptr,
                            together.data(), layout);
  std::vector<double> alone(channel.score_count(layout));
  for (const int sample : {0, 31, 44}) {
    std::vector<double> scores, correlation;
    for (const double value : sample_of(batch.scores, count, sample)) scores.push_back(value);
    for (const double value : sample_of(batch.correlation, count, sample)) correlation.push_back(value);
    loss_and_gradient<double>(channel, 1, scores.data(), correlation.data(), nullptr, alone.data(), layout);
    for (int k = 0; k < channel.score_count(layout); ++k) EXPECT_EQ(alone[k], together[k * count + sample]);
  }
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const ScoreLayout layout : {ScoreLayout::pairs, ScoreLayout::full}) {
    for (const Channel& channel :
         {Channel{Activation::softmax, 2, 1.0}, Channel{Activation::softmax, 2, 4.0},
          Channel{Activation::softmax, 3, 1.0}, Channel{Activation::softmax, 4, 0.7},
          Channel{Activation::softmax, 5, 1.0}, Channel{Activation::softmax, 7, 2.0},
          Channel{Activation::identity, 1, 1.0}, Channel{Activation::identity, 2, 1.0},
          Channel{Activation::identity, 5, 1.0}}) {
      cases.push_back({channel, layout});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Channels, AttentionLoss, ::testing::ValuesIn(cases()), [](const auto& point) {
  const Channel& channel = point.param.channel;
  return to_string(channel.activation) + "T" + std::to_string(channel.tokens) + "n" +
         std::to_string(point.index) + (point.param.layout == ScoreLayout::full ? "full" : "");
});

TEST(AttentionLossEdge, SymmetricScoresNeedNoSecondHalf) {
  // The same symmetric scores, stored once and twice: one loss, and slopes that add up.
  for (const int tokens : {1, 2, 3, 5}) {
    const Channel channel{Activation::identity, tokens, 1.0};
    const auto batch = random_batch<double>({channel, ScoreLayout::pairs}, 1, 1.0);
    std::vector<double> full(tokens * tokens);
    for (int a = 0; a < tokens; ++a) {
      for (int b = 0; b < tokens; ++b) full[a * tokens + b] = batch.scores[pair_of(tokens, a, b)];
    }
    std::vector<double> slopes(channel.pair_count());
    std::vector<double> full_slopes(full.size());
    const double loss = loss_and_gradient(channel, 1, batch.scores.data(), batch.correlation.data(),
                                          batch.gram.data(), slopes.data());
    const double full_loss = loss_and_gradient(channel, 1, full.data(), batch.correlation.data(),
                                               batch.gram.data(), full_slopes.data(), ScoreLayout::full);
    EXPECT_DOUBLE_EQ(full_loss, loss);
    for (int a = 0; a < tokens; ++a) {
      for (int b = a; b < tokens; ++b) {
        const double sum = full_slopes[a * tokens + b] + (a == b ? 0 : full_slopes[b * tokens + a]);
        EXPECT_NEAR(slopes[pair_of(tokens, a, b)], sum, 1e-14);
      }
    }
  }
}

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

TEST(Attention, HardmaxIsTheLimitOfTheSoftmax) {
  const int count = 37;
  for (int tokens : {2, 3, 5}) {
    for (ScoreLayout layout : {ScoreLayout::pairs, ScoreLayout::full}) {
      const Channel hardmax{Activation::hardmax, tokens, 1.0};
      const Batch<double> batch = random_batch<double>({hardmax, layout}, count, 1.0);
      std::vector<double> hard(static_cast<std::size_t>(tokens) * tokens * count);
      std::vector<double> soft(hard.size());
      attention(hardmax, count, batch.scores.data(), hard.data(), layout);
      attention(Channel{Activation::softmax, tokens, 1e6}, count, batch.scores.data(), soft.data(), layout);
      for (std::size_t k = 0; k < hard.size(); ++k) EXPECT_NEAR(hard[k], soft[k], 1e-6);
    }
  }
}

TEST(Attention, HardmaxTakesTheFirstOfEqualScoresAndKeepsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Channel hardmax{Activation::hardmax, 2, 1.0};
  const std::vector<double> scores{1, nan, 1, 0, 2, 0};  // h11, h12, h22 of two samples
  std::vector<double> labels(8);
  attention(hardmax, 2, scores.data(), labels.data());
  EXPECT_EQ(sample_of(labels, 2, 0), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_TRUE(std::isnan(labels[1]) && std::isnan(labels[3]));
  EXPECT_EQ(labels[5], 1);
  std::vector<double> gradient(6);
  EXPECT_THROW(loss_and_gradient(hardmax, 2, scores.data(), labels.data(), static_cast<double*>(nullptr),
                                 gradient.data()),
               InvalidParameter);
}

}  // namespace
}  // namespace qklab
