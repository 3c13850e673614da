#include "qklab/lab/measure.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

#include "lab/plain_model.hpp"
#include "lab/training_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/teacher.hpp"

namespace qklab::lab {
namespace {

TEST(Measure, ProductIsSymmetricAndRight) {
  Problem problem;
  problem.dimension = 31;
  problem.kappa = 0.6;
  const Matrix weights = gaussian_weights(problem, 1);
  const Matrix product = product_with_transpose(weights);
  EXPECT_EQ(product, Matrix(product.transpose()));
  EXPECT_LT((product - weights * weights.transpose()).norm(), 1e-14 * product.norm());
}

TEST(Measure, EigenvaluesFromEitherSide) {
  Problem problem;
  problem.dimension = 31;
  for (double kappa : {0.03, 0.6, 1.0, 1.8}) {
    problem.kappa = kappa;
    const Matrix weights = gaussian_weights(problem, 1);
    const std::vector<double> eigenvalues = eigenvalues_of_product(weights);
    ASSERT_EQ(std::ssize(eigenvalues), 31);
    const Eigen::VectorXd truth =
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(weights * weights.transpose()).eigenvalues();
    for (int i = 0; i < 31; ++i) {
      EXPECT_NEAR(eigenvalues[i], truth[i], 1e-13 * truth[30]);
      EXPECT_GE(eigenvalues[i], 0);
    }
  }
}

TEST(Measure, EigenvaluesRefuseNaN) {
  Matrix weights = Matrix::Ones(3, 3);
  weights(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(eigenvalues_of_product(weights), Error);
}

TEST(Measure, ZeroFraction) {
  EXPECT_EQ(zero_fraction({0, 0, 0.9e-3, 1.1e-3, 1}), 0.6);
  EXPECT_EQ(zero_fraction({0, 0}), 1);
  EXPECT_EQ(zero_fraction({2, 2}), 0);
}

TEST(Measure, Overlap) {
  Matrix left(2, 2);
  left << 1, 2, 2, 3;
  Matrix right(2, 2);
  right << 5, 7, 7, 11;
  EXPECT_DOUBLE_EQ(overlap(left, right), (left * right).trace() / 2);
}

TEST(Measure, TestErrorOfTheIdentityIsAFrobeniusNorm) {
  // sum_ab E (h0 - h)_ab^2 = T (T + 1) Tr (S0 - S)^2/d exactly, at any dimension.
  Problem problem;
  problem.dimension = 24;
  problem.activation = Activation::identity;
  for (int tokens : {1, 2, 3}) {
    problem.tokens = tokens;
    const Matrix teacher = draw_teacher(problem, 2);
    const Matrix weights = gaussian_weights(problem, 1);
    const Matrix difference = teacher - product_with_transpose(weights);
    const Estimate error = measure_test_error(problem, teacher, weights, 40000, 2);
    const double truth = tokens * (tokens + 1) * difference.squaredNorm() / problem.dimension;
    EXPECT_NEAR(error.value, truth, 4 * error.se);
    EXPECT_LT(error.se, 0.02 * truth);
  }
}

TEST(Measure, TestErrorOfTheSoftmaxSampleBySample) {
  Problem problem;
  problem.dimension = 17;
  problem.tokens = 3;
  problem.beta = 1.4;
  problem.kappa = 0.5;
  problem.noise_in = 0.5;   // Labels are noisy,
  problem.noise_out = 0.5;  // the test error is not.
  const Matrix teacher = draw_teacher(problem, 2);
  const Matrix weights = gaussian_weights(problem, 1);
  const Matrix student = weights * weights.transpose();
  std::vector<double> truth;
  for (std::uint64_t sample = 0; sample < 150; ++sample) {
    Matrix x(problem.tokens, problem.dimension);
    RandomStream stream(2, Purpose::measurement, sample);
    for (double& entry : x.reshaped<Eigen::RowMajor>()) entry = stream.normal();
    truth.push_back((plain::attention(problem, plain::scores(x, teacher)) -
                     plain::attention(problem, plain::scores(x, student)))
                        .squaredNorm());
  }
  const Estimate expected = mean_and_error(truth);
  const Estimate measured = measure_test_error(problem, teacher, weights, 150, 2);
  EXPECT_NEAR(measured.value, expected.value, 1e-12);
  EXPECT_NEAR(measured.se, expected.se, 1e-12);
}

TEST(Measure, ThreadsChangeNothing) {
  Problem problem;
  problem.dimension = 20;
  const Matrix teacher = draw_teacher(problem, 2);
  const Matrix weights = gaussian_weights(problem, 1);
  const int budget = omp_get_max_threads();
  omp_set_num_threads(1);
  const Estimate one = measure_test_error(problem, teacher, weights, 1000, 2);
  omp_set_num_threads(3);
  const Estimate many = measure_test_error(problem, teacher, weights, 1000, 2);
  omp_set_num_threads(budget);
  EXPECT_EQ(many.value, one.value);
  EXPECT_EQ(many.se, one.se);
}

}  // namespace
}  // namespace qklab::lab
