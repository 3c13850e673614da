#include "qklab/lab/objective/objective.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Dense>

#include "lab/plain_model.hpp"
#include "lab/training_problems.hpp"
#include "qklab/lab/data/teacher.hpp"

namespace qklab::lab {
namespace {

constexpr std::uint64_t seed = 3;

struct Point {
  double value = 0;
  double loss = 0;
  double regularization = 0;
  std::vector<double> gradient;
};

template <class Real>
Point evaluate(const Problem& problem, const Matrix& parameters, int block = 0,
               TokenStorage storage = TokenStorage::stored) {
  const Dataset<Real> data = draw_dataset<Real>(problem, draw_teacher(problem, seed), seed,
                                                {.storage = storage, .progress = {}, .stop = {}});
  Objective<Real> objective(data, problem, block);
  Point point;
  point.gradient.resize(static_cast<std::size_t>(objective.size()));
  point.value = objective(entries(parameters), point.gradient);
  point.loss = objective.loss();
  point.regularization = objective.regularization();
  return point;
}

double norm(const std::vector<double>& vector) {
  return Eigen::Map<const Eigen::VectorXd>(vector.data(), std::ssize(vector)).norm();
}

double distance(const std::vector<double>& left, const std::vector<double>& right) {
  return (Eigen::Map<const Eigen::VectorXd>(left.data(), std::ssize(left)) -
          Eigen::Map<const Eigen::VectorXd>(right.data(), std::ssize(right)))
      .norm();
}

class EveryProblem : public testing::TestWithParam<NamedProblem> {};

TEST_P(EveryProblem, ValueIsTheDefinition) {
  const Problem& problem = GetParam().problem;
  const Matrix parameters = gaussian_parameters(problem, 1);
  const double truth = plain::objective(problem, draw_teacher(problem, seed), parameters, seed);
  const Point point = evaluate<double>(problem, parameters);
  EXPECT_NEAR(point.value, truth, 1e-12 * truth);
  EXPECT_DOUBLE_EQ(point.value, point.loss + point.regularization);
  const double penalty = plain::penalty(problem, parameters);
  EXPECT_NEAR(point.regularization, penalty, 1e-14 * penalty);
}

TEST_P(EveryProblem, GradientIsTheSlopeOfTheDefinition) {
  const Problem& problem = GetParam().problem;
  const Matrix parameters = gaussian_parameters(problem, 1);
  const Matrix teacher = draw_teacher(problem, seed);
  const Point point = evaluate<double>(problem, parameters);
  for (std::uint64_t index : {2, 3, 4}) {
    const Matrix direction = gaussian_parameters(problem, index);
    const auto along = [&](double t) {
      return plain::objective(problem, teacher, parameters + t * direction, seed);
    };
    constexpr double h = 1e-3;
    // Error h^4 f'''''/30 of the five-point formula.
    const double slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h);
    const Eigen::Map<const Matrix> gradient(point.gradient.data(), parameters.rows(), parameters.cols());
    EXPECT_NEAR(gradient.cwiseProduct(direction).sum(), slope,
                1e-9 * norm(point.gradient) * direction.norm());
  }
}

TEST_P(EveryProblem, SinglePrecisionAgreesToItsRounding) {
  const Problem& problem = GetParam().problem;
  const Matrix parameters = gaussian_parameters(problem, 1);
  const Point exact = evaluate<double>(problem, parameters);
  const Point rounded = evaluate<float>(problem, parameters);
  EXPECT_NEAR(rounded.value, exact.value, 2e-6 * exact.value);
  EXPECT_LT(distance(rounded.gradient, exact.gradient), 2e-6 * norm(exact.gradient));
}

TEST_P(EveryProblem, BlocksChangeOnlyTheRounding) {
  const Problem& problem = GetParam().problem;
  const Matrix parameters = gaussian_parameters(problem, 1);
  const Point whole = evaluate<double>(problem, parameters);
  for (int block : {1, 7, 64}) {
    const Point cut = evaluate<double>(problem, parameters, block);
    EXPECT_NEAR(cut.value, whole.value, 1e-13 * whole.value);
    EXPECT_LT(distance(cut.gradient, whole.gradient), 1e-13 * norm(whole.gradient));
  }
}

template <class Real>
void expect_the_same_when_regenerated(const Problem& problem, const Matrix& parameters) {
  const Point stored = evaluate<Real>(problem, parameters);
  const int budget = omp_get_max_threads();
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    const Point regenerated = evaluate<Real>(problem, parameters, 0, TokenStorage::regenerated);
    EXPECT_EQ(regenerated.value, stored.value);
    EXPECT_EQ(regenerated.gradient, stored.gradient);
  }
  omp_set_num_threads(budget);
}

TEST_P(EveryProblem, RegeneratedTokensChangeNothing) {
  const Problem& problem = GetParam().problem;
  const Matrix parameters = gaussian_parameters(problem, 1);
  expect_the_same_when_regenerated<double>(problem, parameters);
  expect_the_same_when_regenerated<float>(problem, parameters);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryProblem, testing::ValuesIn(with_every_parametrization(small_problems())),
                         [](const auto& param) { return param.param.name; });

TEST(Objective, ThreadsChangeNothing) {
  Problem problem;
  problem.dimension = 70;  // large enough for several threads
  problem.tokens = 3;
  problem.noise_in = 0.2;
  const int budget = omp_get_max_threads();
  for (Parametrization parametrization :
       {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    problem.parametrization = parametrization;
    problem.task = parametrization == Parametrization::tied ? Task::seq2seq : Task::seq2lab;
    const Matrix parameters = gaussian_parameters(problem, 1);
    omp_set_num_threads(1);
    const Point one = evaluate<double>(problem, parameters);
    const Point one_single = evaluate<float>(problem, parameters);
    for (int threads : {2, 3}) {
      omp_set_num_threads(threads);
      const Point many = evaluate<double>(problem, parameters);
      EXPECT_EQ(many.value, one.value);
      EXPECT_EQ(many.gradient, one.gradient);
      EXPECT_EQ(evaluate<float>(problem, parameters).gradient, one_single.gradient);
    }
  }
  omp_set_num_threads(budget);
}

TEST(Objective, RegeneratedTokensChangeNothingOnSeveralThreads) {
  Problem problem;
  problem.dimension = 70;
  problem.noise_in = 0.2;
  const Matrix parameters = gaussian_parameters(problem, 1);
  expect_the_same_when_regenerated<double>(problem, parameters);
  expect_the_same_when_regenerated<float>(problem, parameters);
}

TEST(Objective, TeacherFitsCleanLabelsOnceItsRankFits) {
  Problem problem;
  problem.dimension = 20;
  problem.lambda = 0;
  const Matrix teacher = draw_teacher(problem, seed);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(teacher);
  const Eigen::VectorXd roots = modes.eigenvalues().cwiseMax(0).cwiseSqrt();
  const Matrix root = modes.eigenvectors() * roots.asDiagonal();
  for (Task task : {Task::seq2lab, Task::seq2seq}) {
    problem.task = task;
    const Point point = evaluate<double>(problem, root);
    EXPECT_NEAR(point.loss, 0, 1e-14);
    EXPECT_LT(norm(point.gradient), 1e-8);
  }
}

TEST(Objective, SymmetricUntiedFactorsAreATiedStudent) {
  // U = V = W: the same scores, the same penalty, and half of the slope in each factor.
  for (NamedProblem named : small_problems()) {
    const Matrix weights = gaussian_parameters(named.problem, 1);
    const Point tied = evaluate<double>(named.problem, weights);
    named.problem.parametrization = Parametrization::untied;
    Matrix both(weights.rows(), 2 * weights.cols());
    both << weights, weights;
    const Point untied = evaluate<double>(named.problem, both);
    EXPECT_NEAR(untied.value, tied.value, 1e-13 * tied.value) << named.name;
    const Eigen::Map<const Matrix> slope(untied.gradient.data(), both.rows(), both.cols());
    const Matrix sum = slope.leftCols(weights.cols()) + slope.rightCols(weights.cols());
    EXPECT_LT(distance({sum.data(), sum.data() + sum.size()}, tied.gradient), 1e-13 * norm(tied.gradient))
        << named.name;
  }
}

TEST(Objective, DirectStudentsSeeTheSymmetricPartOnly) {
  Problem problem;
  problem.dimension = 13;
  problem.parametrization = Parametrization::direct;
  const Matrix parameters = gaussian_parameters(problem, 1);
  const Point any = evaluate<double>(problem, parameters);
  const Point symmetric = evaluate<double>(problem, (parameters + parameters.transpose()) / 2);
  EXPECT_EQ(any.value, symmetric.value);
  EXPECT_EQ(any.gradient, symmetric.gradient);
  const Eigen::Map<const Matrix> gradient(any.gradient.data(), 13, 13);
  EXPECT_EQ(Matrix(gradient.transpose()), Matrix(gradient));
}

TEST(Objective, DirectStudentsFollowTheChainRuleOfTiedOnes) {
  // S = W W^T: the same loss, and grad_W = 2 grad_S W. At d = 130 the triangles of the products have steps.
  for (int tokens : {1, 2, 3}) {
    Problem problem;
    problem.dimension = 130;
    problem.alpha = 0.003;
    problem.tokens = tokens;
    if (tokens == 1) problem.activation = Activation::identity;
    problem.noise_out = 0.2;
    problem.lambda = 0;
    const Matrix weights = gaussian_parameters(problem, 1);
    const Point tied = evaluate<double>(problem, weights);
    problem.parametrization = Parametrization::direct;
    const Point direct = evaluate<double>(problem, weights * weights.transpose());
    EXPECT_NEAR(direct.value, tied.value, 1e-12 * tied.value);
    const Matrix gradient = 2 * Eigen::Map<const Matrix>(direct.gradient.data(), 130, 130) * weights;
    EXPECT_LT(distance({gradient.data(), gradient.data() + gradient.size()}, tied.gradient),
              1e-12 * norm(tied.gradient));
  }
}

TEST(Objective, PairsPermuteWithTheTokens) {
  // T = 2: exchanging the tokens of every sample exchanges h_00 and h_11; loss and gradient stay.
  Problem problem;
  problem.dimension = 12;
  problem.noise_in = 0.3;
  const Matrix weights = gaussian_parameters(problem, 1);
  Dataset<double> data = draw_dataset<double>(problem, draw_teacher(problem, seed), seed);
  std::vector<double> gradient(static_cast<std::size_t>(weights.size()));
  std::vector<double> exchanged_gradient(gradient.size());
  const double value = Objective<double>(data, problem)(entries(weights), gradient);
  for (long sample = 0; sample < data.samples; ++sample) {
    double* token = data.inputs.data() + sample * 24;
    std::swap_ranges(token, token + 12, token + 12);
    std::swap(data.correlation[sample], data.correlation[3 * data.samples + sample]);
    std::swap(data.correlation[data.samples + sample], data.correlation[2 * data.samples + sample]);
  }
  const double exchanged = Objective<double>(data, problem)(entries(weights), exchanged_gradient);
  EXPECT_NEAR(exchanged, value, 1e-14 * value);
  EXPECT_LT(distance(exchanged_gradient, gradient), 1e-13 * norm(gradient));
}

}  // namespace
}  // namespace qklab::lab
