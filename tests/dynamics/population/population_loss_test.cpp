#include "qklab/dynamics/population/population_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dynamics/models.hpp"
#include "dynamics/random_matrices.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/population/symmetric_loss.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::make;
using test::random_matrices;
using test::random_scores;

constexpr QmcOptions fine{.log2_points = 14, .scramblings = 8, .seed = 3};

TEST(ScoreGaussian, IsTheLawOfScoresOfGaussianTokens) {
  const AttentionIndexedModel model = make(Architecture::softmax, 0.4, false, 3);
  const std::vector<MatrixXd> matrices = random_matrices(2, 40, 0.3, 1);
  const ScoreGaussian law = score_gaussian(model, order_parameters(matrices));
  const int count = 40000;
  const MatrixXd scores = random_scores(model, matrices, count, 5);
  const VectorXd mean = scores.rowwise().mean();
  const MatrixXd deviations = scores.colwise() - law.mean;
  for (int a = 0; a < scores.rows(); ++a) {
    EXPECT_NEAR(mean[a], law.mean[a], 4.5 * std::sqrt(law.covariance(a, a) / count)) << a;
    for (int b = 0; b <= a; ++b) {
      const Eigen::ArrayXd products = deviations.row(a).array() * deviations.row(b).array();
      const double se = std::sqrt((products - products.mean()).square().mean() / count);
      EXPECT_NEAR(products.mean(), law.covariance(a, b), 4.5 * se) << a << ", " << b;
    }
  }
}

class EveryPopulationLoss : public ::testing::TestWithParam<AttentionIndexedModel> {
 protected:
  /// Matrices of the size of the model, of a trace of order sqrt(d), students correlated with teachers.
  static std::vector<MatrixXd> matrices(int dimension) {
    return random_matrices(GetParam().heads + GetParam().teacher_heads, dimension, 0.3, 7);
  }
};

/// d times the relative difference of the mean loss at finite d: none where second moments are all, large for
/// polynomials of high degree, whose means feel the tails of scores.
double finite_size(Architecture architecture) {
  switch (architecture) {
    case Architecture::linear:
    case Architecture::h1:
    case Architecture::denoising:
      return 0;
    case Architecture::h2:
      return 14;
    case Architecture::h3:
      return 50;
    default:
      return 2;
  }
}

TEST_P(EveryPopulationLoss, IsTheMeanLossAtFiniteDimension) {
  const std::vector<MatrixXd> given = matrices(60);
  const int count = 16000;
  const MatrixXd scores = random_scores(GetParam(), given, count, 9);
  using Rows = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;
  const Rows student = scores.topRows(GetParam().score_count());
  const Rows teacher = scores.bottomRows(GetParam().teacher_score_count());
  VectorXd losses(count);
  Rows slope(student.rows(), count);
  loss_and_gradient<double>(GetParam(), count, student.data(), teacher.data(), nullptr, losses.data(),
                            slope.data());
  const LossGradient gradient = PopulationLoss(GetParam()).evaluate(order_parameters(given));
  const double se = std::sqrt((losses.array() - losses.mean()).square().mean() / count);
  EXPECT_NEAR(gradient.loss.value, losses.mean(),
              4 * (se + gradient.loss.se) + finite_size(GetParam().architecture) / 60 * gradient.loss.value);
}

TEST_P(EveryPopulationLoss, SlopesAreThoseOfFiniteDifferences) {
  const PopulationLoss loss(GetParam(), fine);
  const OrderParameters at = order_parameters(matrices(30));
  const LossGradient gradient = loss.evaluate(at);
  const double step = 1e-4;
  const auto difference = [&](auto&& change) {
    OrderParameters up = at, down = at;
    change(up, step);
    change(down, -step);
    return (loss.evaluate(up).loss.value - loss.evaluate(down).loss.value) / (2 * step);
  };
  const double size = gradient.slope.transposed.norm() + gradient.slope.product.norm();
  for (int k = 0; k < GetParam().heads; ++k) {
    for (int l = 0; l < at.count(); ++l) {
      const double twice = k == l ? 2 : 1;  // a self-overlap is not counted as a pair
      const double transposed = twice * difference([&](OrderParameters& p, double h) {
                                  p.transposed(k, l) += h;
                                  if (k != l) p.transposed(l, k) += h;
                                });
      const double product = twice * difference([&](OrderParameters& p, double h) {
                               p.product(k, l) += h;
                               if (k != l) p.product(l, k) += h;
                             });
      const double error = 5 * gradient.slope_se.transposed(k, l) + 2e-3 * size;
      const double product_error = 5 * gradient.slope_se.product(k, l) + 2e-3 * size;
      EXPECT_NEAR(gradient.slope.transposed(k, l), transposed, error) << k << l;
      EXPECT_NEAR(gradient.slope.product(k, l), product, product_error) << k << l;
    }
    const double mean = difference([&](OrderParameters& p, double h) { p.mean[k] += h; });
    EXPECT_NEAR(GetParam().centred ? 0 : gradient.mean[k], mean, 1e-6 * (1 + size)) << k;
  }
}

TEST_P(EveryPopulationLoss, BothFormsOfTheSlopesAgree) {
  const OrderParameters at = order_parameters(matrices(30));
  const LossGradient second = PopulationLoss(GetParam(), fine).evaluate(at);
  const LossGradient first =
      PopulationLoss(GetParam(), fine, PopulationLoss::Slopes::first_derivatives).evaluate(at);
  const double size = second.slope.transposed.norm() + second.slope.product.norm();
  for (int k = 0; k < GetParam().heads; ++k) {
    for (int l = 0; l < at.count(); ++l) {
      const double se = second.slope_se.transposed(k, l) + first.slope_se.transposed(k, l);
      const double product_se = second.slope_se.product(k, l) + first.slope_se.product(k, l);
      EXPECT_NEAR(first.slope.transposed(k, l), second.slope.transposed(k, l), 5 * se + 1e-3 * size);
      EXPECT_NEAR(first.slope.product(k, l), second.slope.product(k, l), 5 * product_se + 1e-3 * size);
    }
  }
}

TEST_P(EveryPopulationLoss, IsZeroAndFlatAtTheTeacher) {
  if (GetParam().heads != GetParam().teacher_heads) GTEST_SKIP();
  std::vector<MatrixXd> given = matrices(20);
  std::copy_n(given.begin(), GetParam().heads, given.begin() + GetParam().heads);
  const LossGradient gradient = PopulationLoss(GetParam()).evaluate(order_parameters(given));
  EXPECT_NEAR(gradient.loss.value, 0, 1e-12);
  const int heads = GetParam().heads;
  for (int k = 0; k < heads; ++k) {
    MatrixXd step = gradient.mean[k] * MatrixXd::Identity(20, 20) * std::sqrt(20.0);
    double size = 0;
    for (int l = 0; l < 2 * heads; ++l) {
      step +=
          gradient.slope.transposed(k, l) * given[l] + gradient.slope.product(k, l) * given[l].transpose();
      size += std::abs(gradient.slope.transposed(k, l)) * given[l].norm();
    }
    EXPECT_LT(step.norm(), 1e-7 * (1 + size));
  }
}

std::vector<AttentionIndexedModel> every_model() {
  using enum Architecture;
  std::vector<AttentionIndexedModel> models;
  for (const Architecture a :
       {softmax, linear, h1, h2, h3, multi_head, two_layer, autoregressive, multi_location, denoising}) {
    models.push_back(make(a, a == denoising ? 0 : 0.3, false));
  }
  models.push_back(make(softmax, 0, true, 3));
  return models;
}

std::string name_of(const ::testing::TestParamInfo<AttentionIndexedModel>& model) {
  std::string name = to_string(model.param.architecture) + "_" + std::to_string(model.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryPopulationLoss, ::testing::ValuesIn(every_model()), name_of);

TEST(PopulationLossOfAPair, LinearScoresHaveAClosedForm) {
  const double q0 = 1.5, m = 0.4, q = 0.7;
  const PopulationLoss loss(make(Architecture::linear, 0, true, 3), fine);
  const LossGradient gradient = loss.evaluate(symmetric_pair(q0, m, q));
  EXPECT_NEAR(gradient.loss.value, 12 * (q0 - 2 * m + q), 5 * gradient.loss.se);
  EXPECT_NEAR(gradient.slope.transposed(0, 0) + gradient.slope.product(0, 0), 2 * 12, 1e-10);
  EXPECT_NEAR(gradient.slope.transposed(0, 1) + gradient.slope.product(0, 1), -2 * 12, 1e-10);
}

TEST(PopulationLossOfAPair, HermiteTwoHasAClosedForm) {
  const double v0 = 1.5, c = 0.4, v = 0.7;
  const LossGradient gradient = PopulationLoss(make(Architecture::h2)).evaluate(symmetric_pair(v0, c, v));
  EXPECT_NEAR(gradient.loss.value, 3 * v * v + 3 * v0 * v0 - 2 * v * v0 - 4 * c * c, 1e-10);
  EXPECT_NEAR(gradient.slope.transposed(0, 0), 2 * (6 * v - 2 * v0), 1e-10);
  EXPECT_NEAR(gradient.slope.transposed(0, 1), -8 * c, 1e-10);
  EXPECT_NEAR(gradient.slope.product.norm(), 0, 1e-10);  // one pair of independent tokens
}

TEST(PopulationLossOfAPair, IsThatOfTheSymmetricTheory) {
  const double q0 = 1.5, m = 0.4, q = 0.7;
  const PopulationLoss loss(make(Architecture::softmax), fine);
  const LossGradient general = loss.evaluate(symmetric_pair(q0, m, q));
  const SymmetricLoss symmetric(
      SampleLoss{
          .activation = Activation::softmax, .tokens = 2, .beta = 1, .entries = SampleLoss::Entries::all},
      q0);
  const LossSlopes slopes = symmetric.slopes(m, q);
  const PairCoefficients& g = general.slope;
  const PairCoefficients& se = general.slope_se;
  EXPECT_NEAR(general.loss.value, slopes.loss.value, 4 * general.loss.se);
  EXPECT_NEAR(g.transposed(0, 0) + g.product(0, 0), 2 * slopes.self_overlap,
              4 * (se.transposed(0, 0) + se.product(0, 0)));
  EXPECT_NEAR(g.transposed(0, 1) + g.product(0, 1), slopes.overlap,
              4 * (se.transposed(0, 1) + se.product(0, 1)));
  EXPECT_NEAR(2 * (general.noise.transposed(0, 0) + general.noise.product(0, 0)),
              symmetric.noise_strength(m, q), 1e-3);
}

/// Two tokens of softmax are rows of one gap D = G_ii - G_ij, by symmetry alike: a sum over two dimensions.
TEST(PopulationLossOfAPair, CorrelatedTokensReduceToOneGap) {
  const double c = 0.3;
  const AttentionIndexedModel model = make(Architecture::softmax, c, false, 2);
  const OrderParameters at = order_parameters(random_matrices(2, 30, 0.5, 2));
  const double own = 2 - 2 * c, mirrored = (1 - c) * (1 - c);
  const MatrixXd gaps = own * at.transposed + mirrored * at.product;
  const double share = gaps(0, 1) / gaps(1, 1);
  const double rest = std::sqrt(gaps(0, 0) - share * gaps(0, 1));
  double loss = 0, slope = 0, mean_slope = 0;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (double x = -9; x < 9.01; x += 0.1) {
    for (double y = -9; y < 9.01; y += 0.1) {
      const double weight = 0.01 / (2 * M_PI) * std::exp(-0.5 * (x * x + y * y));
      const double deviation = std::sqrt(gaps(1, 1)) * x;
      const double s0 = sigmoid((1 - c) * at.mean[1] + deviation);
      const double s = sigmoid((1 - c) * at.mean[0] + share * deviation + rest * y);
      loss += 4 * weight * (s - s0) * (s - s0);
      slope -= 8 * weight * s * (1 - s) * s0 * (1 - s0);
      mean_slope += 8 * (1 - c) * weight * (s - s0) * s * (1 - s);
    }
  }
  const LossGradient gradient = PopulationLoss(model, fine).evaluate(at);
  EXPECT_NEAR(gradient.loss.value, loss, 4 * gradient.loss.se);
  EXPECT_NEAR(gradient.slope.transposed(0, 1), slope * own, 4 * gradient.slope_se.transposed(0, 1));
  EXPECT_NEAR(gradient.slope.product(0, 1), slope * mirrored, 4 * gradient.slope_se.product(0, 1));
  EXPECT_NEAR(gradient.mean[0], mean_slope, 4 * gradient.mean_se[0]);
  EXPECT_LT(gradient.loss.se, 1e-3 * loss);
}

TEST(PopulationLossOfAPair, LabelNoiseAddsAConstantAndStirsTheGradient) {
  AttentionIndexedModel model = make(Architecture::linear, 0.3, true, 2);
  const OrderParameters at = symmetric_pair(1.5, 0.4, 0.7);
  const LossGradient clean = PopulationLoss(model, fine).evaluate(at);
  model.noise_out = 0.5;
  const LossGradient noisy = PopulationLoss(model, fine).evaluate(at);
  EXPECT_NEAR(noisy.loss.value - clean.loss.value, 0.5 * 4, 1e-10);
  EXPECT_NEAR(noisy.noise.transposed(0, 0) - clean.noise.transposed(0, 0), 4 * 0.5 * 4, 1e-9);
  EXPECT_NEAR(noisy.noise.product(0, 0) - clean.noise.product(0, 0), 4 * 0.5 * (2 + 2 * 0.3 * 0.3), 1e-9);
  EXPECT_EQ(noisy.slope.transposed, clean.slope.transposed);
}

TEST(PopulationLossOfAPair, NamesWhatDoesNotFit) {
  EXPECT_THROW(PopulationLoss(make(Architecture::multi_head)).evaluate(symmetric_pair(1, 0, 1)),
               InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
