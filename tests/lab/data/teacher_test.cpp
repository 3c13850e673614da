#include "qklab/lab/data/teacher.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "qklab/core/error.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab::lab {
namespace {

Eigen::VectorXd descending_eigenvalues(const Matrix& matrix) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix).eigenvalues().reverse();
}

TEST(Teacher, WishartHasItsMoments) {
  Problem problem;
  problem.dimension = 60;
  for (double kappa0 : {0.05, 0.5, 1.7}) {
    problem.teacher = WishartTeacher{kappa0};
    const double p0 = std::round(kappa0 * problem.dimension);
    std::vector<double> traces;
    std::vector<double> squares;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const Matrix teacher = draw_teacher(problem, seed);
      traces.push_back(teacher.trace() / problem.dimension);
      squares.push_back(teacher.squaredNorm() / problem.dimension);
    }
    const Estimate trace = mean_and_error(traces);
    const Estimate square = mean_and_error(squares);
    EXPECT_NEAR(trace.value, std::sqrt(p0 / problem.dimension), 4 * trace.se);
    EXPECT_NEAR(square.value, (problem.dimension + p0 + 1) / problem.dimension, 4 * square.se);
  }
}

TEST(Teacher, WishartHasItsRank) {
  Problem problem;
  problem.dimension = 40;
  problem.teacher = WishartTeacher{0.25};
  const Eigen::VectorXd eigenvalues = descending_eigenvalues(draw_teacher(problem, 5));
  EXPECT_GT(eigenvalues[9], 1e-3);
  EXPECT_LT(std::abs(eigenvalues[10]), 1e-13);
  problem.teacher = WishartTeacher{1e-6};
  EXPECT_GT(draw_teacher(problem, 5).trace(), 1e-3) << "the rank is at least 1";
}

TEST(Teacher, ListsKeepTheirEigenvalues) {
  Problem problem;
  problem.dimension = 50;
  const PowerLawTeacher power_law{1.25, 30};
  problem.teacher = power_law;
  const Eigen::VectorXd powers = descending_eigenvalues(draw_teacher(problem, 1));
  const std::vector<double> expected = power_law_eigenvalues(power_law, problem.dimension);
  for (int i = 0; i < problem.dimension; ++i) EXPECT_NEAR(powers[i], expected[i], 1e-13 * expected[0]);

  problem.dimension = 3;
  problem.teacher = SpectrumTeacher{"list", {0.5, 4, 0}};
  const Eigen::VectorXd listed = descending_eigenvalues(draw_teacher(problem, 1));
  EXPECT_NEAR(listed[0], 4, 1e-13);
  EXPECT_NEAR(listed[1], 0.5, 1e-13);
  EXPECT_NEAR(listed[2], 0, 1e-13);
}

TEST(Teacher, EigenvectorsAreUniformOnTheSphere) {
  // E q_i^2 = 1/d, E q_i^4 = 3/(d (d + 2)), E q_i q_j = 0 for every eigenvector.
  constexpr int d = 4;
  for (int mode : {0, 2, 3}) {
    std::vector<double> eigenvalues(d, 0.0);
    eigenvalues[mode] = 1;
    Problem problem;
    problem.dimension = d;
    problem.teacher = SpectrumTeacher{"one mode", eigenvalues};
    std::vector<double> squares;
    std::vector<double> fourth_powers;
    std::vector<double> products;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      const Matrix projector = draw_teacher(problem, seed);
      squares.push_back(projector(1, 1));
      fourth_powers.push_back(projector(1, 1) * projector(1, 1));
      products.push_back(projector(0, 3));
    }
    const auto within = [](const std::vector<double>& values, double truth) {
      const Estimate mean = mean_and_error(values);
      EXPECT_NEAR(mean.value, truth, 4 * mean.se);
    };
    within(squares, 1.0 / d);
    within(fourth_powers, 3.0 / (d * (d + 2)));
    within(products, 0);
  }
}

TEST(Teacher, IsAFunctionOfTheSeedOnly) {
  Problem problem;
  problem.dimension = 70;
  const int budget = omp_get_max_threads();
  const std::vector<Teacher> teachers = {WishartTeacher{0.5}, PowerLawTeacher{1.0, 0}};
  for (const Teacher& teacher : teachers) {
    problem.teacher = teacher;
    omp_set_num_threads(1);
    const Matrix one = draw_teacher(problem, 9);
    omp_set_num_threads(2);
    EXPECT_EQ(draw_teacher(problem, 9), one);
    EXPECT_NE(draw_teacher(problem, 10), one);
    EXPECT_EQ(one, Matrix(one.transpose()));
  }
  omp_set_num_threads(budget);
}

TEST(Teacher, SpectrumMustFitTheDimension) {
  Problem problem;
  problem.dimension = 5;
  problem.teacher = SpectrumTeacher{"list", {1, 2}};
  EXPECT_THROW(draw_teacher(problem, 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::lab
