#include "qklab/dynamics/population/symmetric_loss.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <random>
#include <vector>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

constexpr double q0 = 1.5;

SampleLoss softmax(int tokens, double beta) {
  return {Activation::softmax, tokens, beta, SampleLoss::Entries::all};
}

SampleLoss by_entry(Activation activation, int tokens,
                    SampleLoss::Entries entries = SampleLoss::Entries::all) {
  return {activation, tokens, 1.0, entries};
}

struct Overlaps {
  double m;
  double q;
};

const std::vector<Overlaps> some_overlaps = {{0.2, 0.18}, {0.9, 0.8}, {1.4, 1.45}, {1.5, 1.5}, {-0.3, 0.5}};

// The loss of the channel floor, sampled there, is an independent program.
TEST(SymmetricLoss, IsTheTestError) {
  for (const auto& [tokens, beta] : std::vector<std::pair<int, double>>{{2, 1.0}, {2, 3.0}, {3, 1.5}}) {
    const SymmetricLoss loss(softmax(tokens, beta), q0);
    const OutputExpectation channel(Channel{Activation::softmax, tokens, beta}, 0, 0,
                                    {.log2_points = 15, .scramblings = 8, .seed = 3});
    for (const Overlaps& at : some_overlaps) {
      const Estimate expected = mean_and_error(channel.test_error({q0, at.m, at.q}));
      const Estimate found = loss.slopes(at.m, at.q).loss;
      EXPECT_NEAR(found.value, expected.value, 4 * std::hypot(expected.se, found.se) + 1e-12)
          << tokens << " tokens, m = " << at.m;
    }
  }
  const OutputExpectation identity(Channel{Activation::identity, 3, 1.0}, 0, 0, {});
  const SymmetricLoss polynomial(by_entry(Activation::identity, 3), q0);
  EXPECT_NEAR(polynomial.slopes(0.9, 0.8).loss.value, identity.test_error({q0, 0.9, 0.8})[0], 1e-12);
  EXPECT_NEAR(SymmetricLoss(by_entry(Activation::identity, 1), q0).slopes(0.9, 0.8).loss.value,
              2 * (q0 - 2 * 0.9 + 0.8), 1e-13);
}

std::vector<SampleLoss> every_form() {
  return {softmax(2, 1.0),
          softmax(2, 6.0),
          softmax(3, 1.3),
          by_entry(Activation::identity, 2),
          by_entry(Activation::hermite2, 1),
          by_entry(Activation::hermite3, 2),
          by_entry(Activation::hermite3, 2, SampleLoss::Entries::one_pair)};
}

TEST(SymmetricLoss, SlopesAreDerivatives) {
  for (const SampleLoss& sample : every_form()) {
    const bool sampled = sample.activation == Activation::softmax && sample.tokens > 2;
    const SymmetricLoss loss(sample, q0, {.log2_points = 16, .scramblings = 4, .seed = 1});
    for (const Overlaps& at : {Overlaps{0.3, 0.4}, Overlaps{0.9, 1.1}}) {
      const double step = sampled ? 0.05 : 1e-3;
      const auto value = [&](double m, double q) { return loss.slopes(m, q).loss.value; };
      const auto derivative = [&](auto f) {
        return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step);
      };
      const LossSlopes slopes = loss.slopes(at.m, at.q);
      const double tolerance = sampled ? 2e-3 : 1e-8;
      EXPECT_NEAR(slopes.overlap, derivative([&](double x) { return value(at.m + x, at.q); }),
                  tolerance * std::abs(slopes.overlap) + tolerance);
      EXPECT_NEAR(slopes.self_overlap, derivative([&](double x) { return value(at.m, at.q + x); }),
                  tolerance * std::abs(slopes.self_overlap) + tolerance);
    }
  }
}

// At alignment the student is the teacher: no loss, no force, no noise, and the two slopes balance.
TEST(SymmetricLoss, VanishesAtAlignment) {
  for (const SampleLoss& sample : every_form()) {
    const SymmetricLoss loss(sample, q0);
    const LossSlopes slopes = loss.slopes(q0, q0);
    EXPECT_NEAR(slopes.loss.value, 0, 1e-12);
    EXPECT_NEAR(2 * slopes.self_overlap + slopes.overlap, 0, 1e-10 * std::abs(slopes.overlap));
    EXPECT_NEAR(loss.noise_strength(q0, q0), 0, 1e-12);
  }
}

// h2 of one pair: E (x^2 - y^2)^2 for variances q, Q0 and covariance m.
TEST(SymmetricLoss, SecondHermitePolynomialOfOnePair) {
  const SymmetricLoss loss(by_entry(Activation::hermite2, 2, SampleLoss::Entries::one_pair), 1.2);
  const double m = 0.4;
  const double q = 0.7;
  EXPECT_NEAR(loss.slopes(m, q).loss.value, 3 * q * q + 3 * 1.2 * 1.2 - 2 * (q * 1.2 + 2 * m * m), 1e-12);
  EXPECT_NEAR(loss.slopes(m, q).overlap, -8 * m, 1e-12);
  EXPECT_NEAR(loss.slopes(m, q).self_overlap, 6 * q - 2 * 1.2, 1e-12);
}

// A sharp softmax is a difference of signs: Phi -> 4 P(signs differ) = 4 acos(rho)/pi.
TEST(SymmetricLoss, SharpSoftmaxCountsSigns) {
  const SymmetricLoss sharp(softmax(2, 60.0), q0);
  const double rho = 0.78;
  const double found = sharp.slopes(rho * std::sqrt(0.8 * q0), 0.8).loss.value;
  EXPECT_NEAR(found, 4 * std::acos(rho) / M_PI, 0.03);
}

// E Tr(Delta^2) of drawn samples, Delta from differences of the sample loss in every ordered score.
struct DrawnSamples {
  DrawnSamples(const SampleLoss& sample, Overlaps at, int count) {
    std::mt19937_64 generator(7);
    std::normal_distribution<double> normal;
    std::vector<double> values;
    const int tokens = sample.tokens;
    for (int n = 0; n < count; ++n) {
      Eigen::MatrixXd h0(tokens, tokens);
      Eigen::MatrixXd h(tokens, tokens);
      for (int a = 0; a < tokens; ++a) {
        for (int b = a; b < tokens; ++b) {
          const double width = a == b ? std::sqrt(2.0) : 1.0;
          const double z = normal(generator);
          h0(a, b) = h0(b, a) = width * std::sqrt(q0) * z;
          h(a, b) = h(b, a) =
              width * (at.m / std::sqrt(q0) * z + std::sqrt(at.q - at.m * at.m / q0) * normal(generator));
        }
      }
      Eigen::MatrixXd gradient(tokens, tokens);
      for (int a = 0; a < tokens; ++a) {
        for (int b = 0; b < tokens; ++b) {
          constexpr double step = 1e-5;
          Eigen::MatrixXd up = h;
          Eigen::MatrixXd down = h;
          up(a, b) += step;
          down(a, b) -= step;
          gradient(a, b) = (cost(sample, up, h0) - cost(sample, down, h0)) / (2 * step);
        }
      }
      values.push_back((gradient + gradient.transpose()).squaredNorm());
    }
    noise = mean_and_error(values);
  }

  static Eigen::MatrixXd label(const SampleLoss& sample, const Eigen::MatrixXd& h) {
    Eigen::MatrixXd y = h * (sample.activation == Activation::identity ? 1 : sample.beta);
    if (sample.activation == Activation::softmax) {
      y = y.array().exp();
      return y.array().colwise() / y.rowwise().sum().array();
    }
    if (sample.activation == Activation::hermite2) return y.array().square() - 1;
    if (sample.activation == Activation::hermite3) return y.array().cube() - 3 * y.array();
    return y;
  }

  static double cost(const SampleLoss& sample, const Eigen::MatrixXd& h, const Eigen::MatrixXd& h0) {
    const Eigen::MatrixXd error = label(sample, h) - label(sample, h0);
    return sample.entries == SampleLoss::Entries::one_pair ? error(0, 1) * error(0, 1) : error.squaredNorm();
  }

  Estimate noise;
};

TEST(SymmetricLoss, NoiseStrengthIsThatOfDrawnSamples) {
  for (const SampleLoss& sample : {softmax(2, 1.0), softmax(3, 1.5), by_entry(Activation::identity, 2),
                                   by_entry(Activation::hermite2, 1),
                                   by_entry(Activation::hermite2, 2, SampleLoss::Entries::one_pair)}) {
    const Overlaps at{0.5, 0.6};
    const DrawnSamples drawn(sample, at, 20000);
    const double found = SymmetricLoss(sample, q0).noise_strength(at.m, at.q);
    EXPECT_NEAR(found, drawn.noise.value, 4 * drawn.noise.se + 1e-3 * found);
  }
}

TEST(SymmetricLoss, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(SymmetricLoss(softmax(1, 1.0), q0), InvalidParameter);
  EXPECT_THROW(SymmetricLoss(softmax(2, 0.0), q0), InvalidParameter);
  EXPECT_THROW(SymmetricLoss(softmax(2, 1.0), 0), InvalidParameter);
  EXPECT_THROW(SymmetricLoss({Activation::softmax, 2, 1, SampleLoss::Entries::one_pair}, q0),
               InvalidParameter);
  EXPECT_THROW(SymmetricLoss(by_entry(Activation::hermite2, 0), q0), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
