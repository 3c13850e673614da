#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "qklab/channel/channel.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/core/random.hpp"
#include "qklab/core/threads.hpp"
#include "qklab/lab/dataset.hpp"
#include "qklab/lab/descent.hpp"
#include "qklab/lab/measure.hpp"
#include "qklab/lab/objective.hpp"
#include "qklab/lab/teacher.hpp"
#include "qklab/lab/train.hpp"

namespace qklab::lab {
namespace {

/// A trained W, and the two terms of the objective there.
struct Trained {
  Matrix weights;
  double train_loss = 0;
  double regularization = 0;
  double gradient_norm = 0;
  long epochs = 0;
  Outcome outcome = Outcome::stagnated;
};

void require_trainable(const Problem& problem);
void require_room(const Problem& problem, const TrainOptions& options);

template <class Real>
Trained train(const Problem& problem, const TrainOptions& options, const Matrix& teacher, std::uint64_t seed);

Matrix random_start(const Problem& problem, std::uint64_t seed);
Descent minimize(const DifferentiableFunction& function, std::span<const double> start, Optimizer optimizer,
                 const DescentOptions& options);

/// W = 0 in place of a descent that converged towards it.
void settle_at_zero(Descent& descent, double value_at_zero, double start_norm);

}  // namespace

TrainedRun run(const Problem& problem, const TrainOptions& options, std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  require_trainable(checked(problem));
  require_room(problem, checked(options));
  const Matrix teacher = draw_teacher(problem, seed);
  const Trained trained = options.precision == Precision::f32
                              ? train<float>(problem, options, teacher, seed)
                              : train<double>(problem, options, teacher, seed);
  const Matrix student = product_with_transpose(trained.weights);

  TrainedRun result;
  result.problem = problem;
  result.seed = seed;
  result.test_error = measure_test_error(problem, teacher, trained.weights, options.test_samples, seed);
  result.train_loss = trained.train_loss;
  result.regularization = trained.regularization;
  result.overlap = overlap(student, teacher);
  result.self_overlap = overlap(student, student);
  result.eigenvalues = eigenvalues_of_product(trained.weights);
  result.zero_fraction = zero_fraction(result.eigenvalues);
  result.epochs = trained.epochs;
  result.gradient_norm = trained.gradient_norm;
  result.outcome = trained.outcome;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

double memory_estimate(const Problem& problem, const TrainOptions& options) {
  const int bytes_per_real = options.precision == Precision::f32 ? 4 : 8;
  const double d = problem.dimension;
  const double width = std::max(1.0, std::round(problem.kappa * d));
  const double optimizer_vectors = options.optimizer == Optimizer::lbfgs ? 48 : 8;
  const double square_matrices = 6;
  return dataset_bytes(problem, bytes_per_real, thread_budget()) +
         objective_bytes(problem, bytes_per_real, thread_budget()) +
         8 * (optimizer_vectors * d * width + square_matrices * d * d +
              static_cast<double>(options.test_samples));
}

namespace {

void require_trainable(const Problem& problem) {
  if (problem.parametrization != Parametrization::tied) {
    throw InvalidParameter("parametrization", to_string(problem.parametrization),
                           "training is available for tied");
  }
  if (problem.activation != Activation::softmax && problem.activation != Activation::identity) {
    throw InvalidParameter("activation", to_string(problem.activation),
                           "training is available for softmax, identity");
  }
}

void require_room(const Problem& problem, const TrainOptions& options) {
  const double d = problem.dimension;
  require_memory(
      memory_estimate(problem, options), fmt::format("dimension = {}", problem.dimension),
      fmt::format("training on n = {:.6g} samples (alpha = {:g}) with width p = {:.6g} (kappa = {:g})",
                  std::round(problem.alpha * d * d), problem.alpha, std::round(problem.kappa * d),
                  problem.kappa));
}

template <class Real>
Trained train(const Problem& problem, const TrainOptions& options, const Matrix& teacher,
              std::uint64_t seed) {
  const Dataset<Real> data = draw_dataset<Real>(problem, teacher, seed, options.progress);
  Objective<Real> objective(data, channel_of(problem), student_width(problem), problem.lambda);
  const DifferentiableFunction function = [&](std::span<const double> weights, std::span<double> gradient) {
    return objective(weights, gradient);
  };
  const Matrix start = random_start(problem, seed);
  const std::span<const double> start_entries(start.data(), static_cast<std::size_t>(start.size()));
  std::vector<double> gradient(start_entries.size(), 0.0);
  const double value_at_zero = function(std::vector<double>(start_entries.size(), 0.0), gradient);

  DescentOptions descent_options;
  descent_options.gradient_tolerance = options.gradient_tolerance;
  descent_options.length_scale = start.norm();
  descent_options.value_scale = value_at_zero;
  descent_options.value_rounding = std::is_same_v<Real, float> ? 1e-6 : 1e-13;
  descent_options.max_epochs = options.max_epochs;
  descent_options.learning_rate = options.learning_rate;
  descent_options.progress = options.progress;
  descent_options.stop = options.stop;
  Descent descent = minimize(function, start_entries, options.optimizer, descent_options);
  settle_at_zero(descent, value_at_zero, start.norm());

  function(descent.point, gradient);
  return {Eigen::Map<const Matrix>(descent.point.data(), start.rows(), start.cols()),
          objective.loss(),
          objective.regularization(),
          descent.gradient_norm,
          descent.epochs,
          descent.outcome};
}

/// iid N(0, v) entries with v^2 p (p + d + 1) = Q0, the mean of Tr(S^2)/d: scores start with the variance of
/// the teacher's whatever the width, and know nothing else of it.
Matrix random_start(const Problem& problem, std::uint64_t seed) {
  const double d = problem.dimension;
  const double p = student_width(problem);
  Matrix weights(problem.dimension, student_width(problem));
  RandomStream stream(seed, Purpose::student);
  stream.fill_normal(std::span<double>(weights.data(), static_cast<std::size_t>(weights.size())));
  return weights * std::pow(teacher_self_overlap(problem) / (p * (p + d + 1)), 0.25);
}

Descent minimize(const DifferentiableFunction& function, std::span<const double> start, Optimizer optimizer,
                 const DescentOptions& options) {
  switch (optimizer) {
    case Optimizer::lbfgs:
      return minimize_lbfgs(function, start, options);
    case Optimizer::adam:
      return minimize_adam(function, start, options);
    case Optimizer::gradient_descent:
      return minimize_gradient_descent(function, start, options);
  }
  throw InvalidParameter("optimizer", "unknown", "must be one of lbfgs, adam, gradient_descent");
}

void settle_at_zero(Descent& descent, double value_at_zero, double start_norm) {
  double square = 0;
  for (double w : descent.point) square += w * w;
  const bool shrinks = std::sqrt(square) < 0.1 * start_norm;
  if (descent.outcome != Outcome::converged || descent.value < value_at_zero || !shrinks) return;
  std::fill(descent.point.begin(), descent.point.end(), 0.0);
  descent.value = value_at_zero;
  descent.gradient_norm = 0;
  descent.outcome = Outcome::zero_solution;
}

}  // namespace
}  // namespace qklab::lab
