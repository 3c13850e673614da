#include "qklab/channel/expectation/untied_output.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "qklab/core/error.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab {
namespace {

constexpr QmcOptions sampling{.log2_points = 13, .scramblings = 8, .seed = 3};

template <class Expectations>
Estimate estimate(const std::vector<Expectations>& outputs, double Expectations::*member) {
  std::vector<double> values;
  for (const Expectations& output : outputs) values.push_back(output.*member);
  return mean_and_error(values);
}

struct TiedCase {
  Channel channel;
  double noise_in;
  double noise_out;
};

class FrozenAntisymmetricPart : public ::testing::TestWithParam<TiedCase> {};

// Without variance and susceptibility of its own the antisymmetric part stays zero, and what is left is the
// channel of tied students, computed by other kernels on the same points.
TEST_P(FrozenAntisymmetricPart, GivesTheTiedChannel) {
  const auto& [channel, noise_in, noise_out] = GetParam();
  const ScoreOverlaps overlaps(1.5, 0.9, 0.8);
  const double V = 0.7;
  const auto tied = OutputExpectation(channel, noise_in, noise_out, sampling).evaluate(overlaps, V);
  UntiedOutput untied_output(channel, noise_in, noise_out, sampling);
  const auto untied = untied_output.evaluate({overlaps, 0}, {V, 1e-13});
  for (std::size_t s = 0; s < tied.size(); ++s) {
    EXPECT_NEAR(untied[s].symmetric_square, tied[s].gradient_square, 1e-8 * tied[s].gradient_square);
    EXPECT_NEAR(untied[s].loss, tied[s].loss, 1e-8 * tied[s].loss);
    EXPECT_NEAR(untied[s].teacher_divergence, tied[s].teacher_divergence_stein, 1e-8);
    EXPECT_NEAR(untied[s].symmetric_divergence, tied[s].student_divergence_stein, 1e-8);
    EXPECT_NEAR(untied[s].teacher_divergence_implicit, tied[s].teacher_divergence_implicit, 1e-8);
    EXPECT_NEAR(untied[s].symmetric_divergence_implicit, tied[s].student_divergence_implicit, 1e-8);
    EXPECT_NEAR(untied[s].symmetric_jacobian, tied[s].jacobian_square, 1e-8 * tied[s].jacobian_square);
    EXPECT_EQ(untied[s].unconverged, 0);
  }
  const auto tied_error = OutputExpectation(channel, noise_in, noise_out, sampling).test_error(overlaps);
  const auto untied_error = untied_output.test_error({overlaps, 0});
  for (std::size_t s = 0; s < tied.size(); ++s) EXPECT_NEAR(untied_error[s], tied_error[s], 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Channels, FrozenAntisymmetricPart,
                         ::testing::Values(TiedCase{{Activation::softmax, 2, 1.0}, 0.3, 0},
                                           TiedCase{{Activation::softmax, 2, 2.0}, 0, 0.1},
                                           TiedCase{{Activation::softmax, 3, 1.0}, 0.2, 0.05},
                                           TiedCase{{Activation::softmax, 4, 1.0}, 0, 0},
                                           TiedCase{{Activation::identity, 3, 1.0}, 0.2, 0}));

/// Minimum over x of 2 (s(x) - a)^2 + (x - w)^2/(2 v), s the logistic function, a in (0, 1): bisection of the
/// derivative, which is right where the minimum is unique (v < 4, as the curvature is above -1/4).
double row_proximal(double a, double w, double v) {
  const auto slope = [&](double x) {
    const double s = 1 / (1 + std::exp(-x));
    return 4 * (s - a) * s * (1 - s) + (x - w) / v;
  };
  double low = w - v;
  double high = w + v;
  for (int k = 0; k < 60; ++k) {
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0 ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

// With V_s = V_a the two rows of two tokens do not see each other (8.5): two-dimensional integrals over the
// gap h_aa - h_ab of teacher and student, with the proximal map of one variable.
TEST(UntiedOutput, RowsOfTwoTokensDecoupleWhenSusceptibilitiesAreEqual) {
  const double V = 0.6;
  const double q_a = 0.2;
  const ScoreOverlaps overlaps(1.5, 0.9, 0.8);
  const double teacher = 3 * overlaps.teacher_self_overlap;
  const double shared = 3 * overlaps.overlap / std::sqrt(teacher);
  const double own = std::sqrt(3 * overlaps.self_overlap() + q_a - shared * shared);
  double square = 0;
  double loss = 0;
  constexpr double step = 0.25;
  for (double x = -7; x <= 7; x += step) {
    for (double y = -7; y <= 7; y += step) {
      const double weight = step * step * std::exp(-0.5 * (x * x + y * y)) / (2 * std::numbers::pi);
      const double a = 1 / (1 + std::exp(-std::sqrt(teacher) * x));
      const double w = shared * x + own * y;
      const double gap = row_proximal(a, w, 4 * V);
      const double s = 1 / (1 + std::exp(-gap));
      square += weight * std::pow((gap - w) / (4 * V), 2);
      loss += weight * 2 * (s - a) * (s - a);
    }
  }
  UntiedOutput output({Activation::softmax, 2, 1.0}, 0, 0, {.log2_points = 16, .scramblings = 8, .seed = 3});
  const auto outputs = output.evaluate({overlaps, q_a}, {V, V});
  std::vector<double> squares;
  for (const auto& one : outputs) squares.push_back(one.symmetric_square + one.antisymmetric_square);
  const Estimate sampled_square = mean_and_error(squares);
  const Estimate sampled_loss = estimate(outputs, &UntiedOutputExpectations::loss);
  EXPECT_LT(sampled_square.se, 2e-3 * sampled_square.value);
  EXPECT_NEAR(sampled_square.value, 2 * 4 * square, 4 * sampled_square.se);
  EXPECT_NEAR(sampled_loss.value, 2 * loss, 4 * sampled_loss.se);
}

// Where nothing jumps Stein's identity and implicit differentiation estimate the same.
TEST(UntiedOutput, DivergencesAgreeWhereNothingJumps) {
  for (int tokens : {2, 3}) {
    UntiedOutput output({Activation::softmax, tokens, 1.0}, 0.1, 0, sampling);
    const auto outputs = output.evaluate({ScoreOverlaps(1.5, 0.9, 0.8), 0.1}, {0.5, 1.1});
    using E = UntiedOutputExpectations;
    ASSERT_EQ(estimate(outputs, &E::competing).value, 0);
    const auto agree = [&](double E::*stein, double E::*implicit) {
      const Estimate a = estimate(outputs, stein);
      const Estimate b = estimate(outputs, implicit);
      EXPECT_LT(a.se, 0.01 * std::abs(a.value));
      EXPECT_NEAR(a.value, b.value, 4 * std::hypot(a.se, b.se)) << tokens;
    };
    agree(&E::teacher_divergence, &E::teacher_divergence_implicit);
    agree(&E::symmetric_divergence, &E::symmetric_divergence_implicit);
    agree(&E::antisymmetric_divergence, &E::antisymmetric_divergence_implicit);
  }
}

// d/dV_a of E min(loss + penalty) = -E |g_a|^2/2 (and the same for V_s), by the envelope theorem; the loss at
// the minimum adds V_s |g_s|^2/2 + V_a |g_a|^2/2 to make the minimum.
TEST(UntiedOutput, SquaresAreSlopesOfTheMinimum) {
  for (double beta : {1.0, 4.0}) {
    UntiedOutput output({Activation::softmax, 2, beta}, 0, 0.1, sampling);
    const UntiedOverlaps overlaps{ScoreOverlaps(1.5, 0.9, 0.8), 0.3};
    const auto minimum = [&](double V_s, double V_a) {
      const auto outputs = output.evaluate(overlaps, {V_s, V_a});
      using E = UntiedOutputExpectations;
      return estimate(outputs, &E::loss).value + 0.5 * V_s * estimate(outputs, &E::symmetric_square).value +
             0.5 * V_a * estimate(outputs, &E::antisymmetric_square).value;
    };
    const double h = 1e-4;
    const auto outputs = output.evaluate(overlaps, {1.2, 2.5});
    const double symmetric = estimate(outputs, &UntiedOutputExpectations::symmetric_square).value;
    const double antisymmetric = estimate(outputs, &UntiedOutputExpectations::antisymmetric_square).value;
    EXPECT_NEAR((minimum(1.2 + h, 2.5) - minimum(1.2 - h, 2.5)) / (2 * h), -0.5 * symmetric,
                1e-5 * symmetric);
    EXPECT_NEAR((minimum(1.2, 2.5 + h) - minimum(1.2, 2.5 - h)) / (2 * h), -0.5 * antisymmetric,
                1e-5 * antisymmetric);
  }
}

TEST(UntiedOutput, NamesWhatIsOutsideItsDomain) {
  EXPECT_THROW(UntiedOutput({Activation::identity, 1, 1.0}, 0, 0, sampling), InvalidParameter);
  EXPECT_THROW(UntiedOutput({Activation::softmax, 2, 1.0}, -1, 0, sampling), InvalidParameter);
  UntiedOutput output({Activation::identity, 2, 1.0}, 0, 0, sampling);
  EXPECT_THROW(output.evaluate({ScoreOverlaps(1, 0, 1), -0.1}, {1, 1}), InvalidParameter);
  EXPECT_THROW(output.evaluate({ScoreOverlaps(1, 0, 1), 0.1}, {1, 0}), InvalidParameter);
}

}  // namespace
}  // namespace qklab
