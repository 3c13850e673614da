#include "qklab/lab/matrix/measure.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/plain_model.hpp"
#include "lab/training_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/data/teacher.hpp"

namespace qklab::lab {
namespace {

TEST(Measure, ProductIsSymmetricAndRight) {
  Problem problem;
  problem.dimension = 31;
  problem.kappa = 0.6;
  const Matrix weights = gaussian_parameters(problem, 1);
  const Matrix product = product_with_transpose(weights);
  EXPECT_EQ(product, Matrix(product.transpose()));
  EXPECT_LT((product - weights * weights.transpose()).norm(), 1e-14 * product.norm());
}

/// A square matrix with iid Gaussian entries.
Matrix gaussian_matrix(int d, std::uint64_t index) {
  Problem problem;
  problem.dimension = d;
  return gaussian_parameters(problem, index);
}

TEST(Measure, SymmetricPart) {
  const Matrix matrix = gaussian_matrix(17, 1);
  const Matrix part = symmetric_part(matrix);
  EXPECT_EQ(part, Matrix(part.transpose()));
  EXPECT_DOUBLE_EQ(part(3, 8), (matrix(3, 8) + matrix(8, 3)) / 2);
}

TEST(Measure, ModesDiagonalise) {
  for (int d : {1, 2, 31}) {
    const Matrix matrix = symmetric_part(gaussian_matrix(d, 1));
    const Modes modes = symmetric_modes(matrix);
    ASSERT_EQ(std::ssize(modes.values), d);
    EXPECT_TRUE(std::ranges::is_sorted(modes.values));
    const Eigen::Map<const Eigen::VectorXd> values(modes.values.data(), d);
    const Eigen::MatrixXd& v = modes.vectors;
    EXPECT_LT((matrix * v - v * values.asDiagonal()).norm(), 1e-13 * matrix.norm());
    EXPECT_LT((v.transpose() * v - Eigen::MatrixXd::Identity(d, d)).norm(), 1e-13 * d);
  }
}

TEST(Measure, SingularValuesAreRootsOfAProduct) {
  for (int d : {1, 2, 31}) {
    const Matrix matrix = gaussian_matrix(d, 1);
    const std::vector<double> values = singular_values(matrix);
    const std::vector<double> squares = symmetric_modes(matrix * matrix.transpose()).values;
    ASSERT_EQ(std::ssize(values), d);
    for (int i = 0; i < d; ++i) EXPECT_NEAR(values[i] * values[i], squares[i], 1e-13 * squares.back());
  }
}

TEST(Measure, AlignmentsAndLevelsByHand) {
  Matrix left(2, 2);
  left << 1, 0, 0, 2;
  Matrix right(2, 2);
  const double angle = 0.3;
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  right << c, -s, s, c;
  right = (right * Eigen::DiagonalMatrix<double, 2>(5, 7) * right.transpose()).eval();
  const Modes modes = symmetric_modes(right);
  const std::vector<double> aligned = alignments(symmetric_modes(left), modes);
  const std::vector<double> level = levels(left, modes);
  EXPECT_NEAR(aligned[0], c * c, 1e-14);
  EXPECT_NEAR(aligned[1], c * c, 1e-14);
  EXPECT_NEAR(level[0], c * c + 2 * s * s, 1e-14);
  EXPECT_NEAR(level[1], s * s + 2 * c * c, 1e-14);
}

TEST(Measure, LevelsAreQuadraticForms) {
  const Matrix matrix = symmetric_part(gaussian_matrix(20, 1));
  const Modes modes = symmetric_modes(symmetric_part(gaussian_matrix(20, 2)));
  const std::vector<double> level = levels(matrix, modes);
  for (int i = 0; i < 20; ++i) {
    const Eigen::VectorXd v = modes.vectors.col(i);
    EXPECT_NEAR(level[i], v.dot(matrix * v), 1e-14 * matrix.norm());
  }
}

TEST(Measure, SpectraRefuseNaN) {
  Matrix matrix = Matrix::Ones(3, 3);
  matrix(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(symmetric_modes(matrix), Error);
  EXPECT_THROW(singular_values(matrix), Error);
}

TEST(Measure, ZeroFraction) {
  EXPECT_EQ(zero_fraction({0, 0, 0.9e-3, 1.1e-3, 1}), 0.6);
  EXPECT_EQ(zero_fraction({-1, -1.1e-3, -0.9e-3, 0.5}), 0.25);
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
  // sum_ab E (h0 - h)_ab^2 = T (T + 1) |D_s|^2/d + T (T - 1) |D_a|^2/d exactly, at any dimension; D = S0 - S
  // has the symmetric part D_s and the antisymmetric part D_a.
  Problem problem;
  problem.dimension = 24;
  problem.activation = Activation::identity;
  for (int tokens : {1, 2, 3}) {
    problem.tokens = tokens;
    for (Parametrization parametrization :
         {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
      problem.parametrization = parametrization;
      const Matrix teacher = draw_teacher(problem, 2);
      const Matrix student = student_matrix(problem, gaussian_parameters(problem, 1));
      const double symmetric = (teacher - symmetric_part(student)).squaredNorm() / problem.dimension;
      const double antisymmetric = (student - symmetric_part(student)).squaredNorm() / problem.dimension;
      const Estimate error = measure_test_error(problem, teacher, student, 40000, 2);
      const double truth = tokens * (tokens + 1) * symmetric + tokens * (tokens - 1) * antisymmetric;
      EXPECT_NEAR(error.value, truth, 4 * error.se);
      EXPECT_LT(error.se, 0.02 * truth);
    }
  }
}

TEST(Measure, TestErrorOfTheSoftmaxSampleBySample) {
  Problem problem;
  problem.dimension = 17;
  problem.tokens = 3;
  problem.beta = 1.4;
  problem.noise_in = 0.5;   // Labels are noisy,
  problem.noise_out = 0.5;  // the test error is not.
  const Matrix teacher = draw_teacher(problem, 2);
  for (Parametrization parametrization :
       {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    problem.parametrization = parametrization;
    const Matrix parameters = gaussian_parameters(problem, 1);
    const Matrix student = plain::student(problem, parameters);
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
    const Estimate measured =
        measure_test_error(problem, teacher, student_matrix(problem, parameters), 150, 2);
    EXPECT_NEAR(measured.value, expected.value, 1e-12);
    EXPECT_NEAR(measured.se, expected.se, 1e-12);
  }
}

TEST(Measure, ThreadsChangeNothing) {
  Problem problem;
  problem.dimension = 20;
  const Matrix teacher = draw_teacher(problem, 2);
  const Matrix student = product_with_transpose(gaussian_parameters(problem, 1));
  const int budget = omp_get_max_threads();
  omp_set_num_threads(1);
  const Estimate one = measure_test_error(problem, teacher, student, 1000, 2);
  omp_set_num_threads(3);
  const Estimate many = measure_test_error(problem, teacher, student, 1000, 2);
  omp_set_num_threads(budget);
  EXPECT_EQ(many.value, one.value);
  EXPECT_EQ(many.se, one.se);
}

}  // namespace
}  // namespace qklab::lab
