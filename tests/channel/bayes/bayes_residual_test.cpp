#include "qklab/channel/bayes/bayes_residual.hpp"

#include <gtest/gtest.h>

#include <array>
#include <boost/math/special_functions/owens_t.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using Values = std::vector<double>;

/// The one-hot rows of a hardmax label.
Values one_hot(const std::vector<int>& largest) {
  const std::size_t tokens = largest.size();
  Values label(tokens * tokens, 0.0);
  for (std::size_t a = 0; a < tokens; ++a) label[a * tokens + largest[a]] = 1;
  return label;
}

/// Every choice of one place in each row.
std::vector<std::vector<int>> all_labels(int tokens) {
  std::vector<std::vector<int>> labels{{}};
  for (int a = 0; a < tokens; ++a) {
    std::vector<std::vector<int>> longer;
    for (const auto& label : labels) {
      for (int b = 0; b < tokens; ++b) {
        longer.push_back(label);
        longer.back().push_back(b);
      }
    }
    labels = longer;
  }
  return labels;
}

struct Response {
  Evidence evidence;
  Values residual;
};

Response respond(const Channel& channel, const Values& label, const Values& center, double variance,
                 double noise_in = 0, double noise_out = 0) {
  Response response{{}, Values(center.size())};
  response.evidence = BayesResidual(channel, noise_in, noise_out)(label.data(), center.data(), variance,
                                                                  response.residual.data());
  return response;
}

Values random_values(int count, double size, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = size * normal(generator);
  return values;
}

/// T x T scores, row by row, of white coordinates a <= b.
Values scores_of(int tokens, const Values& white) {
  Values scores;
  for (int a = 0, k = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, ++k) scores.push_back(white[k] * (a == b ? std::numbers::sqrt2 : 1));
  }
  return scores;
}

Values label_of(const Channel& channel, const Values& white) {
  Values label(static_cast<std::size_t>(channel.tokens) * channel.tokens);
  attention(channel, 1, scores_of(channel.tokens, white).data(), label.data());
  return label;
}

Channel hardmax(int tokens) {
  return {Activation::hardmax, tokens, 1.0};
}

double normal_mass(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

/// P(u < h, v < k) of standard normals with correlation rho (Owen 1956).
double bivariate_mass(double h, double k, double rho) {
  const double root = std::sqrt(1 - rho * rho);
  const double apart = h * k > 0 ? 0 : 1;
  return 0.5 * (normal_mass(h) + normal_mass(k) - apart) -
         boost::math::owens_t(h, (k - rho * h) / (h * root)) -
         boost::math::owens_t(k, (h - rho * k) / (k * root));
}

TEST(BayesResidual, TwoTokensAreABivariateNormal) {
  // u = h11 - h12 and v = h22 - h12 have variance 3 V and correlation 1/3.
  for (double size : {0.1, 1.0, 4.0}) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      const Values center = random_values(3, size, seed);
      const double variance = 0.7;
      for (const auto& largest : all_labels(2)) {
        const double s = largest[0] == 0 ? 1 : -1;
        const double t = largest[1] == 1 ? 1 : -1;
        const double unit = std::sqrt(3 * variance);
        const double mass =
            bivariate_mass(s * (std::numbers::sqrt2 * center[0] - center[1]) / unit,
                           t * (std::numbers::sqrt2 * center[2] - center[1]) / unit, s * t / 3);
        const double found = std::exp(respond(hardmax(2), one_hot(largest), center, variance).evidence.log);
        EXPECT_NEAR(found, mass, 1e-13);
      }
    }
  }
}

TEST(BayesResidual, LabelsExhaustAllScores) {
  for (int tokens : {2, 3}) {
    for (double size : {0.0, 0.3, 1.0, 5.0}) {
      for (unsigned seed = 0; seed < 4; ++seed) {
        const Values center = random_values(tokens * (tokens + 1) / 2, size, seed);
        double mass = 0;
        Values mean(center.size(), 0.0);
        double laplacian = 0;
        for (const auto& largest : all_labels(tokens)) {
          const Response response = respond(hardmax(tokens), one_hot(largest), center, 0.6);
          const double share = std::exp(response.evidence.log);
          mass += share;
          double square = 0;
          for (std::size_t k = 0; k < mean.size(); ++k) {
            mean[k] += share * response.residual[k];
            square += response.residual[k] * response.residual[k];
          }
          laplacian += share * (response.evidence.divergence + square);
        }
        EXPECT_NEAR(mass, 1, 1e-10);
        EXPECT_NEAR(laplacian, 0, 1e-9);
        for (double value : mean) EXPECT_NEAR(value, 0, 1e-10);
      }
    }
  }
}

/// Derivatives of log Z by central differences of fourth order.
void expect_gradient(const Channel& channel, const Values& label, const Values& center, double variance) {
  const Response response = respond(channel, label, center, variance);
  ASSERT_TRUE(std::isfinite(response.evidence.log));
  const double step = 0.02 * std::sqrt(variance);
  double divergence = 0;
  double largest = 1 / std::sqrt(variance);
  for (double value : response.residual) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < center.size(); ++k) {
    const auto at = [&](double move) {
      Values moved = center;
      moved[k] += move * step;
      return respond(channel, label, moved, variance);
    };
    const auto slope = [&](auto value) {
      return (8 * (value(at(1)) - value(at(-1))) - (value(at(2)) - value(at(-2)))) / (12 * step);
    };
    EXPECT_NEAR(response.residual[k], slope([](const Response& r) { return r.evidence.log; }),
                1e-6 * largest);
    divergence += slope([k](const Response& r) { return r.residual[k]; });
  }
  EXPECT_NEAR(response.evidence.divergence, divergence, 1e-6 * largest * largest);
}

TEST(BayesResidual, IsTheGradientOfTheEvidence) {
  for (int tokens : {2, 3}) {
    const int pairs = tokens * (tokens + 1) / 2;
    for (const auto& largest : all_labels(tokens)) {
      const Values label = one_hot(largest);
      // Rings of three tokens that prefer each other have no scores.
      if (largest == std::vector{1, 2, 0} || largest == std::vector{2, 0, 1}) continue;
      for (double size : {0.5, 3.0, 40.0}) {
        expect_gradient(hardmax(tokens), label, random_values(pairs, size, 5), 0.4);
      }
    }
  }
}

TEST(BayesResidual, FarUnlikelyLabelsKeepTheirDigits) {
  // The posterior sits where the label's region is nearest to the center: log Z -> -|distance|^2/(2 V).
  const double far = 300;
  const Response two = respond(hardmax(2), one_hot({0, 1}), {-far, 0, -far}, 1.0);
  // h11 = h12 = h22 nearest to (-sqrt2 far, 0, -sqrt2 far): all at -far/sqrt2.
  EXPECT_NEAR(two.evidence.log / (-far * far / 2), 1, 1e-3);
  EXPECT_NEAR(two.residual[0] / (far / 2), 1, 1e-2);
  EXPECT_NEAR(two.residual[1] / (-far / std::numbers::sqrt2), 1, 1e-2);
  const Response three = respond(hardmax(3), one_hot({1, 0, 1}), {0, -far, 0, 0, 0, 0}, 1.0);
  EXPECT_TRUE(std::isfinite(three.evidence.log));
  EXPECT_LT(three.evidence.log, -far * far / 8);
  for (double size : {1e3, 1e5}) {
    for (const auto& largest : all_labels(3)) {
      const Response response = respond(hardmax(3), one_hot(largest), random_values(6, size, 3), 1.0);
      EXPECT_FALSE(std::isnan(response.evidence.log));
      for (double value : response.residual) EXPECT_TRUE(std::isfinite(value));
      EXPECT_LT(response.evidence.divergence, 1e-6 * size);
    }
  }
}

TEST(BayesResidual, IsThePosteriorMeanOfSampledScores) {
  // By rejection: the prior's scores that give the label.
  const int draws = 400000;
  for (int tokens : {2, 3}) {
    const Channel channel = hardmax(tokens);
    const int pairs = channel.pair_count();
    const Values center = random_values(pairs, 0.8, 11);
    const double variance = 0.5;
    std::mt19937_64 generator(3);
    std::normal_distribution<double> normal;
    for (const auto& largest : tokens == 2 ? std::vector<std::vector<int>>{{0, 1}, {1, 1}, {1, 0}}
                                           : std::vector<std::vector<int>>{{0, 1, 2}, {1, 0, 1}, {0, 0, 0}}) {
      const Values label = one_hot(largest);
      Values sum(static_cast<std::size_t>(pairs), 0.0);
      Values square(sum.size(), 0.0);
      int kept = 0;
      for (int i = 0; i < draws; ++i) {
        Values white(center);
        for (double& value : white) value += std::sqrt(variance) * normal(generator);
        if (label_of(channel, white) != label) continue;
        ++kept;
        for (int k = 0; k < pairs; ++k) {
          sum[k] += white[k];
          square[k] += white[k] * white[k];
        }
      }
      const Response response = respond(channel, label, center, variance);
      const double share = std::exp(response.evidence.log);
      EXPECT_NEAR(static_cast<double>(kept) / draws, share, 4 * std::sqrt(share / draws));
      for (int k = 0; k < pairs; ++k) {
        const double mean = sum[k] / kept;
        const double se = std::sqrt((square[k] / kept - mean * mean) / kept);
        EXPECT_NEAR(center[k] + variance * response.residual[k], mean, 4 * se);
      }
    }
  }
}

TEST(BayesResidual, NoiseOnTheScoresWidensThePrior) {
  const Values center = random_values(6, 1, 2);
  const Response noisy = respond(hardmax(3), one_hot({0, 0, 2}), center, 0.3, 0.5);
  const Response wide = respond(hardmax(3), one_hot({0, 0, 2}), center, 0.8);
  EXPECT_EQ(noisy.evidence.log, wide.evidence.log);
  EXPECT_EQ(noisy.residual, wide.residual);
}

TEST(BayesResidual, NoSymmetricScoresPreferEachOtherInARing) {
  const Response ring = respond(hardmax(3), one_hot({1, 2, 0}), random_values(6, 1, 2), 0.3);
  EXPECT_EQ(ring.evidence.log, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(ring.residual, Values(6, 0.0));
}

TEST(BayesResidual, SoftmaxLabelsShowTheScoresButForOneDirection) {
  for (int tokens : {2, 3, 5}) {
    for (double beta : {0.3, 1.0, 4.0}) {
      const Channel channel{Activation::softmax, tokens, beta};
      const int pairs = channel.pair_count();
      const Values truth = random_values(pairs, 1.2, 7);
      const Values center = random_values(pairs, 1, 8);
      const double variance = 0.4;
      const double noise = 0.2;
      const Response response = respond(channel, label_of(channel, truth), center, variance, noise);
      Values expected(center.size());
      double along = 0;
      for (int a = 0, k = 0; a < tokens; ++a) {
        for (int b = a; b < tokens; ++b, ++k) {
          expected[k] = (truth[k] - center[k]) / (variance + noise);
          along += expected[k] * (a == b ? 1 : std::numbers::sqrt2) / tokens;
        }
      }
      for (int a = 0, k = 0; a < tokens; ++a) {
        for (int b = a; b < tokens; ++b, ++k) {
          EXPECT_NEAR(response.residual[k], expected[k] - along * (a == b ? 1 : std::numbers::sqrt2) / tokens,
                      1e-11);
        }
      }
      EXPECT_DOUBLE_EQ(response.evidence.divergence, -(pairs - 1) / (variance + noise));
      expect_gradient(channel, label_of(channel, truth), center, variance);
    }
  }
}

TEST(BayesResidual, IdentityLabelsAreTheScores) {
  const Channel channel{Activation::identity, 2, 1.0};
  // Both off-diagonal entries carry half of what is known of h12.
  const Response response = respond(channel, {std::numbers::sqrt2, 3, 5, 0}, {0, 0, 0}, 0.5, 0.1, 0.8);
  EXPECT_NEAR(response.residual[0], 1, 1e-14);
  EXPECT_NEAR(response.residual[1], 4, 1e-14);
  EXPECT_NEAR(response.residual[2], 0, 1e-14);
  EXPECT_NEAR(response.evidence.divergence, -3, 1e-14);
}

TEST(BayesResidual, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(BayesResidual(hardmax(4), 0, 0), InvalidParameter);
  EXPECT_THROW(BayesResidual(hardmax(2), 0, 0.1), InvalidParameter);
  EXPECT_THROW(BayesResidual(hardmax(2), -1, 0), InvalidParameter);
  EXPECT_THROW(BayesResidual({Activation::softmax, 2, 1.0}, 0, 0.1), InvalidParameter);
  EXPECT_THROW(BayesResidual({Activation::hermite2, 2, 1.0}, 0, 0), InvalidParameter);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Response unknown = respond(hardmax(2), one_hot({0, 0}), {nan, 0, 0}, 1);
  EXPECT_TRUE(std::isnan(unknown.evidence.log));
  EXPECT_TRUE(std::isnan(unknown.residual[0]));
}

}  // namespace
}  // namespace qklab
