#include "qklab/theory/untied/untied_denoiser.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <numbers>

#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/theory/erm/denoiser.hpp"
#include "theory/sampled_matrices.hpp"

namespace qklab::theory {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd gaussian(int dimension, std::uint64_t seed) {
  MatrixXd matrix(dimension, dimension);
  RandomStream(seed, Purpose::probe)
      .fill_normal(std::span(matrix.data(), static_cast<std::size_t>(matrix.size())));
  return matrix / std::sqrt(static_cast<double>(dimension));
}

Estimate estimate(const std::vector<UntiedStudent>& students, double (*quantity)(const UntiedStudent&)) {
  std::vector<double> values;
  for (const UntiedStudent& student : students) values.push_back(quantity(student));
  return mean_and_error(values);
}

Problem untied(double lambda) {
  Problem problem;
  problem.parametrization = Parametrization::untied;
  problem.lambda = lambda;
  return problem;
}

// The gradient of the smooth part at the minimum is minus a subgradient of the nuclear norm: a matrix of norm
// at most the penalty whose product with S is the penalty times |S|_*.
TEST(NuclearProximal, FulfilsTheSubgradientCondition) {
  const MatrixXd R = gaussian(40, 1) + 0.5 * MatrixXd::Identity(40, 40);
  for (const auto& [symmetric, antisymmetric] : {std::pair{1.0, 0.2}, {0.3, 4.0}, {1.0, 0.01}, {2.0, 2.0}}) {
    for (double penalty : {0.0, 0.1, 0.8}) {
      const NuclearProximal found = nuclear_proximal(R, symmetric, antisymmetric, penalty);
      ASSERT_TRUE(found.converged);
      const MatrixXd& S = found.minimiser;
      const MatrixXd transposed = S.transpose();
      const MatrixXd subgradient =
          R - 0.5 * symmetric * (S + transposed) - 0.5 * antisymmetric * (S - transposed);
      const double norm = test::singular_modes(subgradient).values[0];
      EXPECT_LE(norm, penalty + 1e-8);
      const double nuclear = test::singular_modes(S).values.sum();
      EXPECT_NEAR(subgradient.cwiseProduct(S).sum(), penalty * nuclear, 1e-8 * (1 + nuclear));
      EXPECT_NEAR(found.singular_values.sum(), nuclear, 1e-8 * (1 + nuclear));
    }
  }
}

TEST(NuclearProximal, IsTheSingularValueThresholdWhenCurvaturesAreEqual) {
  const MatrixXd R = gaussian(30, 2);
  const NuclearProximal found = nuclear_proximal(R, 0.7, 0.7, 0.5);
  const test::SingularModes svd = test::singular_modes(R);
  const VectorXd values = (svd.values.array() - 0.5).max(0.0) / 0.7;
  const MatrixXd expected = svd.left * values.asDiagonal() * svd.right.transpose();
  EXPECT_LT((found.minimiser - expected).norm(), 1e-12);
  EXPECT_LE(found.iterations, 2);
}

TEST(NuclearProximal, ForgetsItsStart) {
  const MatrixXd R = gaussian(30, 3);
  const NuclearProximal cold = nuclear_proximal(R, 1.0, 0.2, 0.3);
  const NuclearProximal other = nuclear_proximal(1.3 * R, 1.0, 0.2, 0.3);
  const NuclearProximal warm = nuclear_proximal(R, 1.0, 0.2, 0.3, other.state);
  EXPECT_LT((cold.minimiser - warm.minimiser).norm(), 1e-8);
}

TEST(NuclearProximal, NamesWhatIsOutsideItsDomain) {
  const MatrixXd R = gaussian(4, 3);
  EXPECT_THROW(nuclear_proximal(R, 0, 1, 1), InvalidParameter);
  EXPECT_THROW(nuclear_proximal(R, 1, -1, 1), InvalidParameter);
  EXPECT_THROW(nuclear_proximal(R, 1, 1, -1), InvalidParameter);
  EXPECT_THROW(nuclear_proximal(R.topRows(2), 1, 1, 1), InvalidParameter);
}

// Without antisymmetric noise S is symmetric, and where no negative level passes the threshold it is the
// student of tied weights, whose law is known exactly.
TEST(UntiedDenoiser, IsTheTiedOneWithoutAntisymmetricNoise) {
  Problem problem = untied(0.4);
  const UntiedConjugateParameters hats{1.1, 0.1, 0, 1.4, 0.5};
  UntiedDenoiser sampled(problem, 100, 8, 1);
  const auto students = sampled(hats);
  ASSERT_TRUE(students);
  problem.parametrization = Parametrization::tied;
  const auto exact = Denoiser(problem)({1.1, 0.1, 1.4});
  ASSERT_TRUE(exact);
  const auto agree = [&](double (*quantity)(const UntiedStudent&), double expected, double finite_size) {
    const Estimate found = estimate(*students, quantity);
    EXPECT_NEAR(found.value, expected, 3 * found.se + finite_size);
    EXPECT_LT(found.se, 0.02 * expected);
  };
  agree([](const UntiedStudent& s) { return s.order.overlap; }, exact->order.overlap, 3e-4);
  agree([](const UntiedStudent& s) { return s.order.orthogonal; }, exact->order.orthogonal, 3e-4);
  agree([](const UntiedStudent& s) { return s.order.symmetric_susceptibility; }, exact->order.susceptibility,
        3e-4);
  agree([](const UntiedStudent& s) { return s.penalty; }, exact->penalty, 3e-4);
  agree([](const UntiedStudent& s) { return s.zero_fraction; }, zero_fraction(exact->spectrum), 5e-3);
  for (const UntiedStudent& student : *students) EXPECT_LT(student.order.antisymmetric, 1e-15);
  const auto responses = sampled.mean_square_responses(hats);
  ASSERT_TRUE(responses);
  std::vector<double> squares;
  for (const Eigen::Matrix2d& response : *responses) squares.push_back(response(0, 0));
  const Estimate square = mean_and_error(squares);
  EXPECT_NEAR(square.value, divided_difference_norm(exact->spectrum) / (1.4 * 1.4), 3 * square.se + 1e-3);
  EXPECT_LT(square.se, 0.03 * square.value);
}

// Equal noise and curvature, no teacher: R is a Ginibre matrix with singular values in the quarter circle of
// radius 2 sqrt(2 qhat), thresholded one by one.
TEST(UntiedDenoiser, ThresholdsTheQuarterCircleWhenBothPartsAreAlike) {
  const double qhat = 0.3;
  const double lambda = 0.35;
  const double vhat = 0.8;
  UntiedDenoiser sampled(untied(lambda), 100, 8, 2);
  const auto students = sampled({1e-9, qhat, qhat, vhat, vhat});
  ASSERT_TRUE(students);
  const double radius = 2 * std::sqrt(2 * qhat);
  double square = 0;
  double sum = 0;
  double mass = 0;
  constexpr int points = 20000;
  for (int i = 0; i < points; ++i) {
    const double x = radius * (i + 0.5) / points;
    const double weight =
        radius / points * 4 * std::sqrt(radius * radius - x * x) / (std::numbers::pi * radius * radius);
    const double s = std::max(0.0, x - 2 * lambda) / vhat;
    square += weight * s * s;
    sum += weight * s;
    if (s > 0) mass += weight;
  }
  const auto agree = [&](double (*quantity)(const UntiedStudent&), double expected, double finite_size) {
    const Estimate found = estimate(*students, quantity);
    EXPECT_NEAR(found.value, expected, 3 * found.se + finite_size);
    EXPECT_LT(found.se, 0.02 * expected);
  };
  agree([](const UntiedStudent& s) { return s.order.orthogonal; }, square / 2, 3e-4);
  agree([](const UntiedStudent& s) { return s.order.antisymmetric; }, square / 2, 3e-4);
  agree([](const UntiedStudent& s) { return s.penalty; }, lambda * sum, 3e-4);
  agree([](const UntiedStudent& s) { return s.zero_fraction; }, 1 - mass, 5e-3);
  // The condition of the minimum times S: vhat (q_s + q_a) + 2 |S|_*/d lambda = qhat (V_s + V_a).
  const double susceptibility = (vhat * square + 2 * lambda * sum) / (2 * qhat);
  agree([](const UntiedStudent& s) { return s.order.symmetric_susceptibility; }, susceptibility, 1e-3);
  agree([](const UntiedStudent& s) { return s.order.antisymmetric_susceptibility; }, susceptibility, 1e-3);
}

// What the matrices are scaled for: a relative bias of a fraction of 1/d in place of several 1/d.
TEST(UntiedDenoiser, HasASmallBiasAtSmallDimensions) {
  const UntiedConjugateParameters hats{0.4, 0.05, 0.03, 0.5, 0.17};
  UntiedDenoiser small(untied(0.1), 50, 64, 1);
  UntiedDenoiser large(untied(0.1), 150, 8, 1);
  const auto at_50 = small(hats);
  const auto at_150 = large(hats);
  ASSERT_TRUE(at_50 && at_150);
  const auto agree = [&](double (*quantity)(const UntiedStudent&)) {
    const Estimate a = estimate(*at_50, quantity);
    const Estimate b = estimate(*at_150, quantity);
    EXPECT_NEAR(a.value, b.value, 3 * std::hypot(a.se, b.se) + 0.3 / 50 * b.value);
  };
  agree([](const UntiedStudent& s) { return s.order.overlap; });
  agree([](const UntiedStudent& s) { return s.order.orthogonal; });
  agree([](const UntiedStudent& s) { return s.order.antisymmetric; });
  agree([](const UntiedStudent& s) { return s.order.symmetric_susceptibility; });
  agree([](const UntiedStudent& s) { return s.order.antisymmetric_susceptibility; });
  agree([](const UntiedStudent& s) { return s.penalty; });
}

TEST(UntiedDenoiser, AnswersZeroAboveTheLargestSingularValue) {
  const UntiedConjugateParameters hats{1e-9, 0.3, 0.3, 1, 1};  // quarter circle of radius 1.549
  EXPECT_TRUE(UntiedDenoiser(untied(0.80), 100, 2, 1).answers_zero(hats));
  EXPECT_FALSE(UntiedDenoiser(untied(0.73), 100, 2, 1).answers_zero(hats));
}

TEST(UntiedDenoiser, TakesTheEigenvaluesOfAListAsTheyAre) {
  Problem problem = untied(0.1);
  problem.teacher = PowerLawTeacher{1.0, 0};
  problem.dimension = 50;
  EXPECT_NO_THROW(UntiedDenoiser(problem, 50, 2, 1));
  EXPECT_THROW(UntiedDenoiser(problem, 100, 2, 1), InvalidParameter);
}

TEST(UntiedDenoiser, NamesWhatIsOutsideItsDomain) {
  Problem narrow = untied(0.1);
  narrow.kappa = 0.5;
  EXPECT_THROW(UntiedDenoiser(narrow, 50, 2, 1), InvalidParameter);
  EXPECT_THROW(UntiedDenoiser(untied(0), 50, 2, 1), InvalidParameter);
  UntiedDenoiser denoiser(untied(0.1), 20, 2, 1);
  EXPECT_FALSE(denoiser({1, 1, 1, 0, 1}));
  EXPECT_FALSE(denoiser({1, -1, 1, 1, 1}));
}

}  // namespace
}  // namespace qklab::theory
