#include "amp_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/objective/gradient_matrix.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/student/parameters.hpp"

namespace qklab::lab {
namespace {

template <class Real>
AmpTrajectory pass_messages(const Dataset<Real>& data, const Problem& problem, const Matrix& teacher,
                            const DescentOptions& options);

/// Parameters of the same student with directions in which the objective falls in the place of columns that
/// are zero or nearly so; nothing where there are none.
template <class Real>
std::optional<Matrix> grown(const Dataset<Real>& data, const Problem& problem, const Matrix& parameters,
                            const DescentOptions& options);

double value_at(const DifferentiableFunction& function, std::span<const double> point) {
  std::vector<double> gradient(point.size());
  return function(point, gradient);
}

std::span<const double> entries(const Matrix& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

}  // namespace

template <class Real>
AmpDescent minimize_amp(const Dataset<Real>& data, const Problem& problem, const Matrix& teacher,
                        const DifferentiableFunction& function, std::span<const double> start,
                        const DescentOptions& options) {
  constexpr int most_descents = 8;
  const AmpTrajectory path = pass_messages(data, problem, teacher, options);
  Matrix parameters = parameters_of(problem, path.student);
  AmpDescent result;
  result.iterations = std::ssize(path.iterations);
  long epochs = result.iterations;
  if (!is_answer(path.outcome)) {
    epochs += 2;
    if (!(value_at(function, entries(parameters)) < value_at(function, start))) {
      parameters = Eigen::Map<const Matrix>(start.data(), parameters.rows(), parameters.cols());
    }
  }
  double value = std::numeric_limits<double>::infinity();
  for (int descents = 0; descents < most_descents; ++descents) {
    DescentOptions rest = options;
    rest.max_epochs = std::max<long>(1, options.max_epochs - epochs);
    result.descent = minimize_lbfgs(function, entries(parameters), rest);
    epochs += result.descent.epochs;
    const double fall = value - result.descent.value;
    value = result.descent.value;
    if (result.descent.outcome != Outcome::converged) break;
    if (fall <= 0.1 * options.gradient_tolerance * options.value_scale) break;  // columns gained nothing
    parameters = Eigen::Map<const Matrix>(result.descent.point.data(), parameters.rows(), parameters.cols());
    std::optional<Matrix> next = grown(data, problem, parameters, options);
    if (!next) break;
    result.descent.outcome = Outcome::iteration_limit;
    parameters = *std::move(next);
  }
  result.descent.epochs = epochs;
  return result;
}

namespace {

/// A little damping from the start: it shortens the way more often than not. S to a tolerance at which the
/// gradient is about that wanted.
template <class Real>
AmpTrajectory pass_messages(const Dataset<Real>& data, const Problem& problem, const Matrix& teacher,
                            const DescentOptions& options) {
  AmpOptions messages;
  messages.precision = std::is_same_v<Real, float> ? Precision::f32 : Precision::f64;
  messages.tolerance = 0.1 * options.gradient_tolerance;
  messages.max_iterations = static_cast<int>(options.max_epochs);
  messages.damping = 0.2;
  messages.progress = options.progress;
  messages.stop = options.stop;
  return iterate_amp(data, problem, teacher, messages);
}

/// Factors anew first: columns may have become dependent without being zero.
template <class Real>
std::optional<Matrix> grown(const Dataset<Real>& data, const Problem& problem, const Matrix& parameters,
                            const DescentOptions& options) {
  if (problem.parametrization == Parametrization::direct) return std::nullopt;
  const bool untied = problem.parametrization == Parametrization::untied;
  const Eigen::Index width = untied ? parameters.cols() / 2 : parameters.cols();
  const double size = std::max(parameters.norm(), options.length_scale);
  const double amplitude = 0.1 * size / std::sqrt(static_cast<double>(width));
  // A column of that norm with a smaller slope would pass for converged.
  const double least_fall = options.gradient_tolerance * options.value_scale / (2 * amplitude * size);

  const Matrix s = student_matrix(problem, parameters);
  Matrix next = parameters_of(problem, s);
  Eigen::Index rank = 0;  // columns come in descending order
  while (rank < width && next.col(rank).norm() > amplitude) ++rank;
  if (rank == width) return std::nullopt;
  const auto directions = falling_directions(problem, gradient_matrix(data, problem, s), least_fall);
  const Eigen::Index columns = std::min<Eigen::Index>(std::ssize(directions), width - rank);
  for (Eigen::Index k = 0; k < columns; ++k) {
    next.col(rank + k) = amplitude * directions[k].left;
    if (untied) next.col(width + rank + k) = amplitude * directions[k].right;
  }
  return columns > 0 ? std::optional(std::move(next)) : std::nullopt;
}

}  // namespace

template AmpDescent minimize_amp(const Dataset<float>&, const Problem&, const Matrix&,
                                 const DifferentiableFunction&, std::span<const double>,
                                 const DescentOptions&);
template AmpDescent minimize_amp(const Dataset<double>&, const Problem&, const Matrix&,
                                 const DifferentiableFunction&, std::span<const double>,
                                 const DescentOptions&);

}  // namespace qklab::lab
