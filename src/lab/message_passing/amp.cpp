#include "qklab/lab/message_passing/amp.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "amp_damping.hpp"
#include "amp_denoiser.hpp"
#include "amp_output.hpp"
#include "amp_pass.hpp"
#include "lab/student/matrix_student.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/data/trainable.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

/// The susceptibility of a student that does not move: the limit V -> 0 of the proximal map.
constexpr double vanishing = 1e-40;

/// Undamped, the posterior mean takes the few largest eigenvalues of the noise, which stick out of their
/// limit at finite d, for signal (docs/theory section 5.5).
constexpr double posterior_damping = 0.5;

Problem without_student(Problem problem);
template <class Real>
double reachable(double tolerance);
AmpTrajectory start(const Problem& problem);
AmpTrajectory ended(AmpTrajectory path, Outcome outcome);
Sectors mixed(double damping, const Sectors& last, const Sectors& next);
bool is_usable(const AmpAnswer& answer);
double change(const Sectors& from, const Sectors& to, double least);
double change(const Matrix& from, const Matrix& to);
AmpIteration observed(const Problem& problem, const Matrix& teacher, const AmpTrajectory& path,
                      const AmpAnswer& answer);

}  // namespace

template <class Real>
AmpTrajectory iterate_amp(const Dataset<Real>& data, const Problem& given, const Matrix& teacher,
                          const AmpOptions& options) {
  require_message_passing(given, options.estimator);
  const bool bayes = options.estimator == AmpEstimator::bayes;
  const Problem problem = bayes ? without_student(given) : given;
  const double tolerance = reachable<Real>(checked(options).tolerance);
  AmpPass<Real> pass(data, problem, bayes ? bayes_output(problem) : erm_output(problem));
  const std::unique_ptr<AmpDenoiser> denoise = bayes ? bayes_denoiser(problem) : erm_denoiser(problem);
  AmpTrajectory path = start(problem);
  const double least_damping = bayes && options.damp_when_needed ? posterior_damping : 0;
  AmpDamping damping(std::max(options.damping, least_damping), options.damp_when_needed);
  const double vanished = tolerance * tolerance * teacher_self_overlap(problem);
  for (int t = 0; t < options.max_iterations; ++t) {
    const AmpAnswer answer = pass(path.student, path.susceptibility, damping.current());
    if (!is_usable(answer)) return ended(std::move(path), Outcome::diverged);
    AmpStudent next = (*denoise)(answer.field, answer.hats);
    next.susceptibility = mixed(damping.current(), path.susceptibility, next.susceptibility);

    AmpIteration now = observed(problem, teacher, path, answer);
    now.iteration = t;
    now.damping = damping.current();
    now.residual = change(path.student, next.matrix) / (1 - now.damping);
    if (options.iterate_samples > 0) {
      now.test_error = measure_test_error(problem, teacher, path.student, options.iterate_samples, data.seed);
    }
    const double moved = std::max(now.residual, change(path.susceptibility, next.susceptibility, vanished));
    path.iterations.push_back(now);
    if (!std::isfinite(moved)) return ended(std::move(path), Outcome::diverged);
    path.student = std::move(next.matrix);
    path.susceptibility = next.susceptibility;
    if (options.progress) {
      options.progress({"message passing", t + 1.0, static_cast<double>(options.max_iterations)});
    }
    if (moved <= tolerance) {
      const bool is_zero = path.student.isZero(0);
      return ended(std::move(path), is_zero ? Outcome::zero_solution : Outcome::converged);
    }
    if (options.stop.requested()) return ended(std::move(path), Outcome::interrupted);
    if (!damping.follow(now.residual)) return ended(std::move(path), Outcome::stagnated);
  }
  return ended(std::move(path), Outcome::iteration_limit);
}

AmpOptions checked(AmpOptions options) {
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance)) {
    throw InvalidParameter("tolerance", options.tolerance, "must be > 0 and finite");
  }
  if (!(options.damping >= 0 && options.damping < 1)) {
    throw InvalidParameter("damping", options.damping, "must be in [0, 1)");
  }
  if (options.max_iterations < 1) {
    throw InvalidParameter("max_iterations", options.max_iterations, "must be >= 1");
  }
  if (options.test_samples < 2) {
    throw InvalidParameter("test_samples", static_cast<double>(options.test_samples),
                           "must be >= 2 for a standard error");
  }
  if (options.iterate_samples < 0 || options.iterate_samples == 1) {
    throw InvalidParameter("iterate_samples", static_cast<double>(options.iterate_samples),
                           "must be 0 or >= 2 for a standard error");
  }
  return options;
}

void require_message_passing(const Problem& problem, AmpEstimator estimator) {
  if (estimator == AmpEstimator::bayes) {
    checked(problem);
    require_independent_tokens(problem);
    bayes_denoiser(problem);
    bayes_output(problem);
    return;
  }
  require_trainable(problem);
  const bool untied = problem.parametrization == Parametrization::untied;
  if (untied && problem.tokens > 1) {
    throw InvalidParameter("tokens", problem.tokens, "message passing of an untied student takes one token");
  }
  if (untied && student_width(problem) < problem.dimension) {
    throw InvalidParameter("kappa", problem.kappa,
                           "message passing of an untied student needs full width: must be >= 1");
  }
}

namespace {

Problem without_student(Problem problem) {
  problem.parametrization = Parametrization::tied;
  problem.kappa = 1;
  return problem;
}

template <class Real>
double reachable(double tolerance) {
  return std::is_same_v<Real, float> ? std::max(tolerance, 5e-6) : tolerance;
}

/// S = 0 and V = Q0, that of a student of which only the size is known.
AmpTrajectory start(const Problem& problem) {
  const int d = problem.dimension;
  const double q0 = teacher_self_overlap(problem);
  const bool ordered = matrix_layout(problem) == ScoreLayout::full;
  return {{}, Matrix::Zero(d, d), {q0, ordered ? q0 : 0}, Outcome::stagnated};
}

AmpTrajectory ended(AmpTrajectory path, Outcome outcome) {
  path.outcome = outcome;
  return path;
}

/// A sector that the student has keeps a V > 0.
Sectors mixed(double damping, const Sectors& last, const Sectors& next) {
  const auto mix = [damping](double from, double to) {
    return from > 0 ? std::max(damping * from + (1 - damping) * to, vanishing) : 0;
  };
  return {mix(last.symmetric, next.symmetric), mix(last.antisymmetric, next.antisymmetric)};
}

/// The curvature of a sum of losses that are not convex may be negative at a student that is far off.
bool is_usable(const AmpAnswer& answer) {
  const Sectors& vhat = answer.hats.susceptibility;
  return answer.field.allFinite() && vhat.symmetric > 0 && std::isfinite(vhat.symmetric) &&
         std::isfinite(vhat.antisymmetric);
}

double change(const Sectors& from, const Sectors& to, double least) {
  const auto relative = [least](double a, double b) {
    return a == b ? 0 : std::abs(b - a) / std::max({a, b, least});
  };
  return std::max(relative(from.symmetric, to.symmetric), relative(from.antisymmetric, to.antisymmetric));
}

double change(const Matrix& from, const Matrix& to) {
  const double difference = (to - from).norm();
  return difference == 0 ? 0 : difference / std::max(to.norm(), from.norm());
}

AmpIteration observed(const Problem& problem, const Matrix& teacher, const AmpTrajectory& path,
                      const AmpAnswer& answer) {
  const Matrix& s = path.student;
  const double d = problem.dimension;
  AmpIteration now;
  const Matrix error = s - teacher;
  now.overlap = overlap(s, teacher);
  now.squared_error = overlap(error, error);
  now.self_overlap = {overlap(s, s), 0};
  if (matrix_layout(problem) == ScoreLayout::full) {
    const Matrix symmetric = symmetric_part(s);
    const Matrix antisymmetric = s - symmetric;
    now.self_overlap = {overlap(symmetric, symmetric), overlap(antisymmetric, antisymmetric)};
  }
  now.susceptibility = path.susceptibility;
  now.overlap_hat = overlap(answer.field, teacher) / overlap(teacher, teacher);
  now.self_overlap_hat = answer.hats.self_overlap;
  now.susceptibility_hat = answer.hats.susceptibility;
  now.train_loss = answer.loss / (d * d);
  now.competing = answer.competing;
  now.unconverged = answer.unconverged;
  return now;
}

}  // namespace

template AmpTrajectory iterate_amp(const Dataset<float>&, const Problem&, const Matrix&, const AmpOptions&);
template AmpTrajectory iterate_amp(const Dataset<double>&, const Problem&, const Matrix&, const AmpOptions&);

}  // namespace qklab::lab
