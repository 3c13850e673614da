#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "lab/objective/sweep.hpp"
#include "lab/student/matrix_student.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/core/threads.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/message_passing/amp.hpp"

namespace qklab::lab {
namespace {

template <class Real>
AmpTrajectory pass_messages(const Problem& problem, const Matrix& teacher, const AmpOptions& options,
                            std::uint64_t seed);
void require_room(const Problem& problem, const AmpOptions& options);
AmpRun unmeasured(const Problem& problem, std::uint64_t seed);

}  // namespace

AmpRun run_amp(const Problem& problem, const AmpOptions& options, std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  require_message_passing(problem, options.estimator);
  require_room(problem, checked(options));
  const Matrix teacher = draw_teacher(problem, seed);
  AmpTrajectory path = options.precision == Precision::f32
                           ? pass_messages<float>(problem, teacher, options, seed)
                           : pass_messages<double>(problem, teacher, options, seed);
  AmpRun result = unmeasured(problem, seed);
  if (!path.iterations.empty()) {
    const Matrix& s = path.student;
    const bool untied =
        options.estimator == AmpEstimator::erm && problem.parametrization == Parametrization::untied;
    const Matrix symmetric = untied ? symmetric_part(s) : s;
    const Matrix antisymmetric = s - symmetric;
    const Matrix error = s - teacher;
    result.overlap = overlap(s, teacher);
    result.squared_error = overlap(error, error);
    result.self_overlap = {overlap(symmetric, symmetric), overlap(antisymmetric, antisymmetric)};
    result.susceptibility = path.susceptibility;
    result.spectrum = untied && problem.tokens > 1 ? singular_values(s) : symmetric_modes(s).values;
    result.zero_fraction = zero_fraction(result.spectrum);
    result.test_error = measure_test_error(problem, teacher, s, options.test_samples, seed);
    result.train_loss = path.iterations.back().train_loss;
    result.outcome = path.outcome;
    for (const AmpIteration& iteration : path.iterations) {
      result.largest_damping = std::max(result.largest_damping, iteration.damping);
    }
    result.iterations = std::move(path.iterations);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

double message_passing_bytes(const Problem& problem, int bytes_per_real, int threads) {
  const double d = problem.dimension;
  const double tokens = problem.tokens;
  const bool ordered = matrix_layout(problem) == ScoreLayout::full;
  const double residuals = problem.alpha * d * d * (ordered ? tokens * tokens : tokens * (tokens + 1) / 2);
  const double square_matrices = 16;
  return sweep_bytes(problem, d, bytes_per_real, threads) + 8 * (residuals + square_matrices * d * d);
}

namespace {

/// No iterations when stopped before the data were complete.
template <class Real>
AmpTrajectory pass_messages(const Problem& problem, const Matrix& teacher, const AmpOptions& options,
                            std::uint64_t seed) {
  const Dataset<Real> data = draw_dataset<Real>(
      problem, teacher, seed,
      {.storage = TokenStorage::stored, .progress = options.progress, .stop = options.stop});
  if (options.stop.requested()) return {};
  return iterate_amp(data, problem, teacher, options);
}

void require_room(const Problem& problem, const AmpOptions& options) {
  const int bytes_per_real = options.precision == Precision::f32 ? 4 : 8;
  const double samples = problem.alpha * problem.dimension * problem.dimension;
  const double bytes = dataset_bytes(problem, bytes_per_real, TokenStorage::stored, thread_budget()) +
                       message_passing_bytes(problem, bytes_per_real, thread_budget());
  require_memory(bytes, fmt::format("dimension = {}", problem.dimension),
                 fmt::format("message passing on n = {:.6g} samples (alpha = {:g})", std::round(samples),
                             problem.alpha));
}

AmpRun unmeasured(const Problem& problem, std::uint64_t seed) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  AmpRun result;
  result.problem = problem;
  result.seed = seed;
  result.self_overlap = result.susceptibility = {unknown, unknown};
  result.test_error = {unknown, unknown};
  result.overlap = result.squared_error = result.zero_fraction = result.train_loss = unknown;
  result.outcome = Outcome::interrupted;
  return result;
}

}  // namespace
}  // namespace qklab::lab
