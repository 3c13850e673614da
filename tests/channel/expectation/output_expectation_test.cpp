#include "qklab/channel/expectation/output_expectation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "channel/every_target.hpp"
#include "channel/plain_channel.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab {
namespace {

template <class Quantity>
Estimate estimate(const std::vector<OutputExpectations>& scramblings, const Quantity& quantity) {
  std::vector<double> values;
  for (const OutputExpectations& one : scramblings) values.push_back(quantity(one));
  return mean_and_error(values);
}

Estimate estimate(const std::vector<OutputExpectations>& scramblings, double OutputExpectations::*field) {
  return estimate(scramblings, [&](const OutputExpectations& one) { return one.*field; });
}

const std::vector<std::pair<const char*, double OutputExpectations::*>> kFields = {
    {"gradient_square", &OutputExpectations::gradient_square},
    {"teacher_divergence_stein", &OutputExpectations::teacher_divergence_stein},
    {"student_divergence_stein", &OutputExpectations::student_divergence_stein},
    {"teacher_divergence_implicit", &OutputExpectations::teacher_divergence_implicit},
    {"student_divergence_implicit", &OutputExpectations::student_divergence_implicit},
    {"jacobian_square", &OutputExpectations::jacobian_square},
    {"loss", &OutputExpectations::loss}};

QmcOptions points(int log2_points, std::uint64_t seed = 1) {
  QmcOptions options;
  options.log2_points = log2_points;
  options.seed = seed;
  return options;
}

/// A solved point of the state evolution from an independent program: overlaps in, hats and errors out.
struct ReferencePoint {
  nlohmann::json input, output;

  double given(const char* name) const { return input.at(name).get<double>(); }
  double wanted(const char* name) const { return output.at(name).at("value").get<double>(); }
  double wanted_se(const char* name) const { return output.at(name).at("se").get<double>(); }
  Channel channel() const {
    return {parse_activation(input.at("activation")), input.at("tokens").get<int>(), given("beta")};
  }
  ScoreOverlaps overlaps() const {
    const bool wishart = input.at("teacher") == "wishart";
    return {wishart ? 1 + given("kappa0") : 1.0, wanted("overlap"), wanted("self_overlap")};
  }
};

std::vector<ReferencePoint> reference_points() {
  std::vector<ReferencePoint> found;
  const auto document = nlohmann::json::parse(std::ifstream(QKLAB_TEST_DATA "/erm-reference.json"));
  for (const auto& entry : document) found.push_back({entry.at("input"), entry.at("output")});
  return found;
}

class AtReferencePoint : public ::testing::TestWithParam<int> {};

TEST_P(AtReferencePoint, EveryOutputIsReproduced) {
  const ReferencePoint point = reference_points().at(GetParam());
  OutputExpectation expectation(point.channel(), point.given("noise_in"), point.given("noise_out"),
                                points(15));
  const auto result = expectation.evaluate(point.overlaps(), point.wanted("susceptibility"));
  const double alpha = point.given("alpha");
  const auto expect = [&](const char* name, const Estimate& got) {
    const double combined = std::hypot(got.se, point.wanted_se(name));
    const double want = point.wanted(name);
    EXPECT_NEAR(got.value, want, std::max(4 * combined, 2e-3 * std::abs(want))) << name << " se " << got.se;
  };
  const auto scaled = [&](double OutputExpectations::*field, double factor) {
    return estimate(result, [&](const OutputExpectations& one) { return factor * alpha * one.*field; });
  };
  expect("self_overlap_hat", scaled(&OutputExpectations::gradient_square, 2));
  expect("overlap_hat", scaled(&OutputExpectations::teacher_divergence_stein, 2));
  expect("overlap_hat", scaled(&OutputExpectations::teacher_divergence_implicit, 2));
  expect("susceptibility_hat", scaled(&OutputExpectations::student_divergence_stein, -2));
  expect("susceptibility_hat", scaled(&OutputExpectations::student_divergence_implicit, -2));
  expect("train_loss", scaled(&OutputExpectations::loss, 1));
  expect("test_error", mean_and_error(expectation.test_error(point.overlaps())));
  EXPECT_EQ(estimate(result, &OutputExpectations::unconverged).value, 0);
}

INSTANTIATE_TEST_SUITE_P(ErmReference, AtReferencePoint, ::testing::Range(0, 22));

/// beta = 3, alpha = 0.5, lambda = 0.1, noise_in = 0.2, kappa0 = 0.5: hats of an independent program, whose
/// solution trained runs confirm (q = 0.4268 against 0.4282(22) at d = 120). Error bars are that program's.
TEST(OutputExpectation, SteinReproducesAStronglyNonConvexPoint) {
  OutputExpectation expectation({Activation::softmax, 2, 3.0}, 0.2, 0, points(16));
  const auto result = expectation.evaluate({1.5, 0.7286769730573797, 0.426779413720449}, 0.39821671610975573);
  EXPECT_NEAR(estimate(result, &OutputExpectations::gradient_square).value, 0.34183068472768174,
              0.003260779084895623);
  EXPECT_NEAR(estimate(result, &OutputExpectations::teacher_divergence_stein).value, 0.8448577761576712,
              0.005241382474640677);
  EXPECT_NEAR(estimate(result, &OutputExpectations::student_divergence_stein).value, -1.5799483570792894,
              0.013263880501844447);
}

TEST(OutputExpectation, ImplicitDerivativesMissTheJumps) {
  OutputExpectation expectation({Activation::softmax, 2, 4.0}, 0.2, 0, points(17));
  const auto result = expectation.evaluate({1.5, 0.73, 0.43}, 1.0);
  const Estimate gap = estimate(
      result, [](const auto& e) { return e.teacher_divergence_stein - e.teacher_divergence_implicit; });
  EXPECT_GT(gap.value, 6 * gap.se);
  EXPECT_GT(estimate(result, &OutputExpectations::competing).value, 0.001);
  EXPECT_EQ(estimate(result, &OutputExpectations::unconverged).value, 0);
}

TEST(OutputExpectation, SteinAndImplicitAgreeWhereTheMapIsSmooth) {
  for (const int tokens : {2, 3, 5}) {
    OutputExpectation expectation({Activation::softmax, tokens, 1.0}, 0, 0, points(12));
    const auto result = expectation.evaluate({1.5, 1.1, 0.9}, 0.5);
    const auto compare = [&](double OutputExpectations::*stein, double OutputExpectations::*implicit) {
      const Estimate gap = estimate(result, [&](const auto& e) { return e.*stein - e.*implicit; });
      EXPECT_LT(std::abs(gap.value), 4 * gap.se) << tokens;
      EXPECT_LT(gap.se, 0.02 * std::abs(estimate(result, implicit).value)) << tokens;
    };
    compare(&OutputExpectations::teacher_divergence_stein, &OutputExpectations::teacher_divergence_implicit);
    compare(&OutputExpectations::student_divergence_stein, &OutputExpectations::student_divergence_implicit);
    EXPECT_EQ(estimate(result, &OutputExpectations::competing).value, 0);
  }
}

/// Close to perfect recovery w - z is tiny, and so is g; both estimators must keep their relative accuracy.
TEST(OutputExpectation, KeepsItsDigitsNearRecovery) {
  OutputExpectation expectation({Activation::softmax, 2, 1.0}, 0, 0, points(14));
  const auto at = [&](double distance) {
    return expectation.evaluate(
        ScoreOverlaps::from_orthogonal(1.5, 1.5 - 0.3 * distance, distance * distance), 2.0);
  };
  const auto far = at(1e-3), near = at(1e-6);
  for (const auto field :
       {&OutputExpectations::teacher_divergence_stein, &OutputExpectations::teacher_divergence_implicit,
        &OutputExpectations::student_divergence_stein, &OutputExpectations::student_divergence_implicit}) {
    const double want = estimate(far, field).value;
    EXPECT_NEAR(estimate(near, field).value, want, 2e-3 * std::abs(want));
  }
  const double want = 1e-6 * estimate(far, &OutputExpectations::gradient_square).value;
  EXPECT_NEAR(estimate(near, &OutputExpectations::gradient_square).value, want, 5e-3 * want);
}

/// At V -> 0 the point is e* = w: with label noise iid over T x T the loss is the test error plus T^2
/// noise_out.
TEST(OutputExpectation, LossBeforeAnyFitIsTestErrorPlusLabelNoise) {
  for (const int tokens : {2, 3}) {
    const double noise = 0.3;
    OutputExpectation expectation({Activation::softmax, tokens, 1.0}, 0, noise, points(14));
    const ScoreOverlaps overlaps{1.5, 0.9, 1.1};
    const auto result = expectation.evaluate_at_zero_susceptibility(overlaps);
    const std::vector<double> errors = expectation.test_error(overlaps);
    std::vector<double> gaps;
    for (std::size_t s = 0; s < errors.size(); ++s) gaps.push_back(result[s].loss - errors[s]);
    const Estimate gap = mean_and_error(gaps);
    EXPECT_NEAR(gap.value, tokens * tokens * noise, 4 * gap.se);
    EXPECT_LT(gap.se, 0.01);
  }
}

TEST(OutputExpectation, ZeroSusceptibilityIsTheLimit) {
  OutputExpectation expectation({Activation::softmax, 3, 2.0}, 0.2, 0.1, points(10));
  const ScoreOverlaps overlaps{1.5, 0.3, 0.1};
  const auto limit = expectation.evaluate_at_zero_susceptibility(overlaps);
  const auto near = expectation.evaluate(overlaps, 1e-8);
  for (const auto& [name, field] : kFields) {
    for (std::size_t s = 0; s < limit.size(); ++s) {
      EXPECT_NEAR(near[s].*field, limit[s].*field, 1e-6 * (1 + std::abs(limit[s].*field))) << name;
    }
  }
}

/// Every scrambling is an independent, unbiased estimate: the spread must explain the distance to the truth.
TEST(OutputExpectation, StandardErrorsAreHonest) {
  const Channel channel{Activation::softmax, 2, 1.0};
  const ScoreOverlaps overlaps{1.5, 1.2, 1.1};
  OutputExpectation exact(channel, 0.3, 0.05, points(16, 4242));
  const auto truth = exact.evaluate(overlaps, 0.7);
  constexpr int kSeeds = 24;
  std::vector<double> square(kFields.size(), 0.0);
  std::vector<int> outside(kFields.size(), 0);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto result = OutputExpectation(channel, 0.3, 0.05, points(9, 100 + seed)).evaluate(overlaps, 0.7);
    for (std::size_t k = 0; k < kFields.size(); ++k) {
      const Estimate got = estimate(result, kFields[k].second);
      const double z = (got.value - estimate(truth, kFields[k].second).value) / got.se;
      square[k] += z * z / kSeeds;
      outside[k] += std::abs(z) > 2.36;  // 5 % of Student's law with 7 degrees of freedom
    }
  }
  for (std::size_t k = 0; k < kFields.size(); ++k) {
    // Mean square of Student's t with 7 degrees of freedom is 1.4; 24 seeds scatter it by about 0.5.
    EXPECT_GT(square[k], 0.5) << kFields[k].first;
    EXPECT_LT(square[k], 3.0) << kFields[k].first;
    EXPECT_LE(outside[k], 5) << kFields[k].first;
  }
}

TEST(OutputExpectation, TheAnswerDoesNotDependOnHistory) {
  const Channel channel{Activation::softmax, 2, 1.0};
  const ScoreOverlaps overlaps{1.5, 1.2, 1.1}, elsewhere{1.5, 0.4, 0.9};
  OutputExpectation fresh(channel, 0.3, 0.1, points(12));
  OutputExpectation used(channel, 0.3, 0.1, points(12));
  used.evaluate(elsewhere, 0.05);
  used.evaluate(elsewhere, 3.0);
  const auto want = fresh.evaluate(overlaps, 0.7);
  const auto got = used.evaluate(overlaps, 0.7);
  for (const auto& [name, field] : kFields) {
    for (std::size_t s = 0; s < want.size(); ++s) {
      EXPECT_NEAR(got[s].*field, want[s].*field, 1e-11 * (1 + std::abs(want[s].*field))) << name;
    }
  }
}

TEST(OutputExpectation, EveryTargetGivesTheSameExpectations) {
  for (const int tokens : {2, 3, 4, 5}) {
    const Channel channel{Activation::softmax, tokens, 1.3};
    const ScoreOverlaps overlaps{1.5, 1.2, 1.1};
    const auto want = OutputExpectation(channel, 0.2, 0.05, points(9)).evaluate(overlaps, 0.6);
    test::for_every_target([&](const char* target) {
      const auto got = OutputExpectation(channel, 0.2, 0.05, points(9)).evaluate(overlaps, 0.6);
      for (const auto& [name, field] : kFields) {
        for (std::size_t s = 0; s < want.size(); ++s) {
          EXPECT_NEAR(got[s].*field, want[s].*field, 1e-11 * (1 + std::abs(want[s].*field)))
              << name << " T " << tokens << " on " << target;
        }
      }
    });
  }
}

TEST(OutputExpectation, TestErrorMatchesPlainMonteCarlo) {
  const Channel channel{Activation::softmax, 3, 1.5};
  const ScoreOverlaps overlaps{1.5, 1.0, 1.2};
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  std::vector<double> samples;
  for (int i = 0; i < 40000; ++i) {
    std::vector<double> teacher, student;
    for (int k = 0; k < channel.pair_count(); ++k) {
      const double x = normal(generator), y = normal(generator);
      teacher.push_back(std::sqrt(1.5) * x);
      student.push_back(x / std::sqrt(1.5) + std::sqrt(1.2 - 1 / 1.5) * y);
    }
    samples.push_back(test::plain_square_loss(
        channel, test::plain_attention(channel, test::scores_of_white(3, teacher)), student));
  }
  const Estimate plain = mean_and_error(samples);
  OutputExpectation expectation(channel, 0, 0, points(13));
  const Estimate got = mean_and_error(expectation.test_error(overlaps));
  EXPECT_NEAR(got.value, plain.value, 4 * std::hypot(got.se, plain.se));
  const Estimate perfect = mean_and_error(expectation.test_error({1.5, 1.5, 1.5}));
  EXPECT_NEAR(perfect.value, 0, 1e-14);
}

/// One sample of the identity channel solved entry by entry in the scores, label noise T x T.
struct IdentitySample {
  double gradient_square, loss;
};

IdentitySample solve_identity(int tokens, const std::vector<double>& label, const std::vector<double>& center,
                              double susceptibility) {
  IdentitySample result{0, 0};
  for (int a = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b) {
      const double variance = a == b ? 2 : 1;
      const double w = std::sqrt(variance) * center[test::pair_of(tokens, a, b)];
      const double first = label[a * tokens + b], second = label[b * tokens + a];
      const double count = a == b ? 1 : 2;
      const double stiffness = 1 / (2 * susceptibility * variance);
      const double sum = a == b ? first : first + second;
      const double score = (sum + stiffness * w) / (count + stiffness);
      result.gradient_square += variance * std::pow((score - w) / (susceptibility * variance), 2);
      result.loss += std::pow(first - score, 2) + (a == b ? 0 : std::pow(second - score, 2));
    }
  }
  return result;
}

TEST(OutputExpectation, IdentityMatchesMonteCarlo) {
  for (const int tokens : {1, 2, 3}) {
    const Channel channel{Activation::identity, tokens, 1.0};
    const double noise_in = 0.3, noise_out = 0.5, susceptibility = 0.4;
    std::mt19937_64 generator(9);
    std::normal_distribution<double> normal;
    std::vector<double> squares, losses;
    for (int i = 0; i < 40000; ++i) {
      std::vector<double> center(channel.pair_count()), label(tokens * tokens);
      for (int a = 0; a < tokens; ++a) {
        for (int b = a; b < tokens; ++b) {
          const double x = normal(generator);
          const double z = std::sqrt(1.5) * x + std::sqrt(noise_in) * normal(generator);
          center[test::pair_of(tokens, a, b)] =
              x / std::sqrt(1.5) + std::sqrt(1.2 - 1 / 1.5) * normal(generator);
          label[a * tokens + b] = label[b * tokens + a] = (a == b ? std::sqrt(2.0) : 1.0) * z;
        }
      }
      for (double& value : label) value += std::sqrt(noise_out) * normal(generator);
      const IdentitySample sample = solve_identity(tokens, label, center, susceptibility);
      squares.push_back(sample.gradient_square);
      losses.push_back(sample.loss);
    }
    OutputExpectation expectation(channel, noise_in, noise_out, QmcOptions{});
    const OutputExpectations got = expectation.evaluate({1.5, 1.0, 1.2}, susceptibility).front();
    const Estimate square = mean_and_error(squares), loss = mean_and_error(losses);
    EXPECT_NEAR(got.gradient_square, square.value, 4 * square.se) << tokens;
    EXPECT_NEAR(got.loss, loss.value, 4 * loss.se) << tokens;
  }
}

TEST(OutputExpectation, IdentityDivergencesAreThoseOfALinearMap) {
  OutputExpectation expectation({Activation::identity, 3, 1.0}, 0.1, 0.2, QmcOptions{});
  for (const OutputExpectations& e : expectation.evaluate({1.5, 1.0, 1.2}, 0.75)) {
    EXPECT_DOUBLE_EQ(e.teacher_divergence_stein, 6.0);
    EXPECT_DOUBLE_EQ(e.student_divergence_implicit, -6.0);
    EXPECT_DOUBLE_EQ(e.jacobian_square, 6.0);
  }
  EXPECT_DOUBLE_EQ(expectation.test_error({1.5, 1.0, 1.2}).front(), 2 * 6 * 0.7);
}

TEST(OutputExpectation, RefusesWhatIsOutsideItsDomain) {
  const Channel channel{Activation::softmax, 2, 1.0};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(OutputExpectation(channel, -0.1, 0, points(8)), InvalidParameter);
  EXPECT_THROW(OutputExpectation(channel, 0, nan, points(8)), InvalidParameter);
  EXPECT_THROW(OutputExpectation(channel, 0, 0, points(30)), InvalidParameter);
  EXPECT_THROW(OutputExpectation({Activation::hermite2, 2, 1.0}, 0, 0, points(8)), InvalidParameter);
  EXPECT_THROW(OutputExpectation({Activation::softmax, 100, 1.0}, 0, 0, points(8)), InvalidParameter);
  OutputExpectation expectation(channel, 0, 0, points(8));
  EXPECT_THROW(expectation.evaluate({0, 0, 1}, 1), InvalidParameter);
  EXPECT_THROW(expectation.evaluate({1, 1, 0.5}, 1), InvalidParameter);
  EXPECT_THROW(expectation.evaluate({1, nan, 1}, 1), InvalidParameter);
  EXPECT_THROW(expectation.evaluate({1, 0.5, 1}, -1), InvalidParameter);
  EXPECT_THROW(expectation.evaluate({1, 0.5, 1}, nan), InvalidParameter);
  EXPECT_THROW(expectation.test_error({1, 0.5, nan}), InvalidParameter);
  EXPECT_NO_THROW(expectation.evaluate({1, 1, 1}, 1));
}

}  // namespace
}  // namespace qklab
