#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "lab/plain_model.hpp"
#include "lab/training_problems.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/student/parameters.hpp"
#include "qklab/lab/training/descent.hpp"

namespace qklab::lab {
namespace {

constexpr std::uint64_t seed = 5;
constexpr Parametrization parametrizations[] = {Parametrization::tied, Parametrization::direct,
                                                Parametrization::untied};

/// T = 1, identity: y_mu = <A_mu, S0> + noise with A_mu = (x x^T - I)/sqrt d.
Problem quadratic_problem(Parametrization parametrization) {
  Problem problem;
  problem.parametrization = parametrization;
  problem.activation = Activation::identity;
  problem.tokens = 1;
  problem.dimension = 12;
  problem.alpha = 0.8;
  problem.noise_out = 0.4;
  problem.lambda = 0.3;
  return problem;
}

/// S where the gradient of the objective has fallen to 1e-11 of its natural size.
Matrix trained_student(const Problem& problem) {
  const Dataset<double> data = draw_dataset<double>(problem, draw_teacher(problem, seed), seed);
  Objective<double> objective(data, problem);
  const Matrix start = random_start(problem, seed);
  DescentOptions options;
  options.gradient_tolerance = 1e-11;
  options.value_rounding = 1e-13;
  options.max_epochs = 50000;
  const Descent descent = minimize_lbfgs(
      [&](std::span<const double> point, std::span<double> gradient) { return objective(point, gradient); },
      entries(start), options);
  EXPECT_EQ(descent.outcome, Outcome::converged);
  return student_matrix(problem, Eigen::Map<const Matrix>(descent.point.data(), start.rows(), start.cols()));
}

/// A_mu and y_mu of the training samples.
struct Measurements {
  std::vector<Matrix> matrices;
  Eigen::VectorXd labels;
};

Measurements measurements(const Problem& problem) {
  const int d = problem.dimension;
  const long n = sample_count(problem);
  const Matrix teacher = draw_teacher(problem, seed);
  Measurements result{{}, Eigen::VectorXd(n)};
  for (long sample = 0; sample < n; ++sample) {
    const Matrix x = plain::tokens(problem, seed, sample);
    result.matrices.emplace_back((x.transpose() * x - Matrix::Identity(d, d)) / std::sqrt(d));
    result.labels[sample] = plain::label(problem, teacher, seed, sample)(0, 0);
  }
  return result;
}

/// Gradient of the data term (1/d^2) sum_mu (y_mu - <A_mu, S>)^2.
Matrix data_gradient(const Measurements& measured, const Matrix& s) {
  Matrix sum = Matrix::Zero(s.rows(), s.cols());
  for (std::size_t mu = 0; mu < measured.matrices.size(); ++mu) {
    sum += (measured.matrices[mu].cwiseProduct(s).sum() - measured.labels[mu]) * measured.matrices[mu];
  }
  return 2.0 / static_cast<double>(s.size()) * sum;
}

TEST(Student, DirectOnOneTokenIsRidgeRegression) {
  const Problem problem = quadratic_problem(Parametrization::direct);
  const Measurements measured = measurements(problem);
  const int d = problem.dimension;
  // (A^T A + lambda d) s = A^T y for the d^2 entries of S; the solution is symmetric because A is.
  Eigen::MatrixXd design(std::ssize(measured.matrices), d * d);
  for (std::size_t mu = 0; mu < measured.matrices.size(); ++mu) {
    design.row(mu) = Eigen::Map<const Eigen::RowVectorXd>(measured.matrices[mu].data(), d * d);
  }
  Eigen::MatrixXd normal = design.transpose() * design;
  normal.diagonal().array() += problem.lambda * d;
  const Eigen::VectorXd solution = normal.ldlt().solve(design.transpose() * measured.labels);
  const Eigen::Map<const Matrix> truth(solution.data(), d, d);
  EXPECT_LT((trained_student(problem) - truth).norm(), 1e-8 * truth.norm());
}

TEST(Student, UntiedOnOneTokenMinimisesTheNuclearNorm) {
  // S minimises f + (lambda/d) |S|_* exactly when no singular value of grad f exceeds lambda/d and
  // -<grad f, S> = (lambda/d) |S|_*.
  for (double alpha : {0.3, 0.8, 2.0}) {
    Problem problem = quadratic_problem(Parametrization::untied);
    problem.alpha = alpha;
    const double decay = problem.lambda / problem.dimension;
    const Matrix s = trained_student(problem);
    const Matrix slope = data_gradient(measurements(problem), s);
    const Eigen::VectorXd values = Eigen::JacobiSVD<Eigen::MatrixXd>(s).singularValues();
    // One token does not see the antisymmetric part, and the norm leaves it free within bounds (docs/theory
    // section 1.3): the symmetric part alone is a minimiser as well.
    EXPECT_GT((s - s.transpose()).norm(), 1e-3 * s.norm());
    const Eigen::MatrixXd symmetric = symmetric_part(s);
    EXPECT_NEAR(Eigen::JacobiSVD<Eigen::MatrixXd>(symmetric).singularValues().sum(), values.sum(),
                1e-8 * values.sum());
    EXPECT_NEAR(-slope.cwiseProduct(s).sum(), decay * values.sum(), 1e-8 * decay * values.sum());
    EXPECT_LT(Eigen::JacobiSVD<Eigen::MatrixXd>(slope).singularValues()[0], decay * (1 + 1e-4));
    EXPECT_LT(values[11], 1e-4 * values[0]) << "the penalty leaves some directions out";
  }
}

TEST(Student, MatrixIsTheDefinition) {
  for (const NamedProblem& named : with_every_parametrization(small_problems())) {
    const Matrix parameters = gaussian_parameters(named.problem, 1);
    const Matrix truth = plain::student(named.problem, parameters);
    EXPECT_LT((student_matrix(named.problem, parameters) - truth).norm(), 1e-14 * truth.norm()) << named.name;
    EXPECT_EQ(parameter_count(named.problem), static_cast<double>(parameters.size())) << named.name;
  }
}

TEST(Student, StartsWithTheSizeOfTheTeacher) {
  for (Parametrization parametrization : parametrizations) {
    Problem problem;
    problem.parametrization = parametrization;
    problem.dimension = 15;
    problem.kappa = parametrization == Parametrization::direct ? 1 : 0.6;
    std::vector<double> squares;
    std::vector<double> overlaps;
    for (std::uint64_t start = 0; start < 400; ++start) {
      const Matrix s = student_matrix(problem, random_start(problem, start));
      squares.push_back(overlap(s, s));
      overlaps.push_back(s(2, 7));
    }
    const Estimate square = mean_and_error(squares);
    EXPECT_NEAR(square.value, teacher_self_overlap(problem), 4 * square.se) << to_string(parametrization);
    const Estimate entry = mean_and_error(overlaps);
    EXPECT_NEAR(entry.value, 0, 4 * entry.se);
  }
}

}  // namespace
}  // namespace qklab::lab
