#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "amp_trainer.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/student/parameters.hpp"
#include "qklab/lab/training/descent.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

/// Trained parameters, and the two terms of the objective there.
struct Trained {
  Matrix parameters;
  double train_loss = 0;
  double regularization = 0;
  double gradient_norm = 0;
  long epochs = 0;
  long message_passes = 0;
  Outcome outcome = Outcome::stagnated;
};

/// Nothing when stopped before the data were complete.
template <class Real>
std::optional<Trained> train(const Problem& problem, const TrainOptions& options, TokenStorage storage,
                             const Matrix& teacher, std::uint64_t seed);

Descent minimize(const DifferentiableFunction& function, std::span<const double> start, Optimizer optimizer,
                 const DescentOptions& options);

/// P = 0, where the gradient vanishes, in place of a descent that converged towards it.
void settle_at_zero(Descent& descent, double value_at_zero, double start_norm);

void measure(const Matrix& student, const Matrix& teacher, TrainedRun& result);
TrainedRun unmeasured(const Problem& problem, std::uint64_t seed);

}  // namespace

TrainedRun run(const Problem& problem, const TrainOptions& options, std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  require_trainable(problem, options.optimizer);
  if (options.optimizer == Optimizer::amp && options.ranks.size > 1) {
    throw InvalidParameter("optimizer", to_string(options.optimizer),
                           "message passing needs all samples in one process: ranks share those of others");
  }
  const MemoryNeed memory = memory_need(problem, checked(options));
  const Matrix teacher = draw_teacher(problem, seed);
  const std::optional<Trained> trained = options.precision == Precision::f32
                                             ? train<float>(problem, options, memory.storage, teacher, seed)
                                             : train<double>(problem, options, memory.storage, teacher, seed);
  TrainedRun result = unmeasured(problem, seed);
  result.optimizer = options.optimizer;
  result.memory = memory;
  if (trained) {
    const Matrix student = student_matrix(problem, trained->parameters);
    result.test_error = measure_test_error(problem, teacher, student, options.test_samples, seed);
    measure(student, teacher, result);
    result.train_loss = trained->train_loss;
    result.regularization = trained->regularization;
    result.epochs = trained->epochs;
    result.message_passes = trained->message_passes;
    result.gradient_norm = trained->gradient_norm;
    result.outcome = trained->outcome;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

void require_trainable(const Problem& problem, Optimizer optimizer) {
  require_trainable(problem);
  if (optimizer == Optimizer::amp) require_message_passing(problem);
  if (optimizer == Optimizer::automatic) {
    throw InvalidParameter("optimizer", to_string(optimizer),
                           "the theory must have chosen between amp and lbfgs");
  }
}

namespace {

template <class Real>
std::optional<Trained> train(const Problem& problem, const TrainOptions& options, TokenStorage storage,
                             const Matrix& teacher, std::uint64_t seed) {
  const Dataset<Real> data = draw_dataset<Real>(
      problem, teacher, seed, {.storage = storage, .progress = options.progress, .stop = options.stop},
      options.ranks);
  if (options.stop.requested()) return std::nullopt;
  Objective<Real> objective(data, problem, 0, options.ranks);
  const DifferentiableFunction function = [&](std::span<const double> point, std::span<double> gradient) {
    return objective(point, gradient);
  };
  const Matrix start = random_start(problem, seed);
  const std::span<const double> start_entries(start.data(), static_cast<std::size_t>(start.size()));
  std::vector<double> gradient(start_entries.size(), 0.0);
  const double value_at_zero = function(std::vector<double>(start_entries.size(), 0.0), gradient);
  const bool is_stationary_at_zero = std::ranges::all_of(gradient, [](double slope) { return slope == 0; });

  DescentOptions descent_options;
  descent_options.gradient_tolerance = options.gradient_tolerance;
  descent_options.length_scale = start.norm();
  descent_options.value_scale = value_at_zero;
  descent_options.value_rounding = std::is_same_v<Real, float> ? 1e-6 : 1e-13;
  descent_options.max_epochs = options.max_epochs;
  descent_options.learning_rate = options.learning_rate;
  descent_options.progress = options.progress;
  descent_options.stop = options.stop;
  long message_passes = 0;
  Descent descent;
  if (options.optimizer == Optimizer::amp) {
    AmpDescent messages = minimize_amp(data, problem, teacher, function, start_entries, descent_options);
    descent = std::move(messages.descent);
    message_passes = messages.iterations;
  } else {
    descent = minimize(function, start_entries, options.optimizer, descent_options);
  }
  if (is_stationary_at_zero) settle_at_zero(descent, value_at_zero, start.norm());

  function(descent.point, gradient);
  return Trained{Eigen::Map<const Matrix>(descent.point.data(), start.rows(), start.cols()),
                 objective.loss(),
                 objective.regularization(),
                 descent.gradient_norm,
                 descent.epochs,
                 message_passes,
                 descent.outcome};
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
    default:
      throw InvalidParameter("optimizer", to_string(optimizer), "is not a descent from a random start");
  }
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

void measure(const Matrix& student, const Matrix& teacher, TrainedRun& result) {
  const bool untied = result.problem.parametrization == Parametrization::untied;
  const Matrix symmetric = untied ? symmetric_part(student) : student;
  const Matrix antisymmetric = student - symmetric;
  result.overlap = overlap(symmetric, teacher);
  result.self_overlap = overlap(symmetric, symmetric);
  result.antisymmetric_self_overlap = overlap(antisymmetric, antisymmetric);
  const Modes modes = symmetric_modes(symmetric);
  const Modes teacher_modes = symmetric_modes(teacher);
  result.eigenvalues = modes.values;
  result.teacher_eigenvalues = teacher_modes.values;
  result.alignments = alignments(teacher_modes, modes);
  result.teacher_levels = levels(teacher, modes);
  if (untied) result.singular_values = singular_values(student);
  result.zero_fraction = zero_fraction(untied ? result.singular_values : result.eigenvalues);
}

TrainedRun unmeasured(const Problem& problem, std::uint64_t seed) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  TrainedRun result;
  result.problem = problem;
  result.seed = seed;
  result.test_error = {unknown, unknown};
  for (double* value : {&result.train_loss, &result.regularization, &result.overlap, &result.self_overlap,
                        &result.antisymmetric_self_overlap, &result.zero_fraction, &result.gradient_norm}) {
    *value = unknown;
  }
  result.outcome = Outcome::interrupted;
  return result;
}

}  // namespace
}  // namespace qklab::lab
