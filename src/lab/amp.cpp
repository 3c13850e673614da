#include "qklab/lab/amp.hpp"

#include <algorithm>
#include <cmath>

#include "amp_damping.hpp"
#include "amp_denoiser.hpp"
#include "amp_output.hpp"
#include "amp_pass.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/measure.hpp"

namespace qklab::lab {
namespace {

/// The susceptibility of a student that does not move: the limit V -> 0 of the proximal map.
constexpr double vanishing = 1e-40;

Sectors start_susceptibility(const Problem& problem);
Sectors positive(const Sectors& susceptibility, const Sectors& pattern);
double relative_change(double from, double to);
double relative_change(const Matrix& from, const Matrix& to);
AmpIteration record(const Problem& problem, const Matrix& teacher, const Matrix& student);

}  // namespace

template <class Real>
AmpTrajectory iterate_amp(const Dataset<Real>& data, const Problem& problem, const Matrix& teacher,
                          const AmpOptions& options) {
  require_message_passing(problem);
  checked(options);
  AmpPass<Real> pass(data, problem, erm_output(problem));
  const std::unique_ptr<AmpDenoiser> denoise = erm_denoiser(problem);
  const auto d = problem.dimension;
  AmpTrajectory result{{}, Matrix::Zero(d, d), start_susceptibility(problem), Outcome::iteration_limit};
  AmpDamping damping(options.damping);
  for (int t = 0; t < options.max_iterations; ++t) {
    Matrix& s = result.student;
    Sectors& v = result.susceptibility;
    AmpIteration now = record(problem, teacher, s);
    const AmpAnswer answer = pass(s, v, damping.current());
    const AmpStudent next = (*denoise)(answer.field, answer.hats);
    const Sectors next_v = positive(next.susceptibility, v);

    now.iteration = t;
    now.susceptibility = v;
    now.overlap_hat = overlap(answer.field, teacher) / overlap(teacher, teacher);
    now.self_overlap_hat = answer.hats.self_overlap;
    now.susceptibility_hat = answer.hats.susceptibility;
    now.train_loss = answer.loss / (static_cast<double>(d) * d);
    now.residual = relative_change(s, next.matrix);
    now.damping = damping.current();
    now.competing = answer.competing;
    now.unconverged = answer.unconverged;
    if (options.iterate_samples > 0) {
      now.test_error = measure_test_error(problem, teacher, s, options.iterate_samples, data.seed);
    }
    result.iterations.push_back(now);
    if (options.progress) {
      options.progress({"message passing", t + 1.0, static_cast<double>(options.max_iterations)});
    }
    const double moved = std::max(relative_change(v.symmetric, next_v.symmetric),
                                  relative_change(v.antisymmetric, next_v.antisymmetric));
    if (!std::isfinite(now.residual) || !std::isfinite(moved)) {
      result.outcome = Outcome::diverged;
      break;
    }
    if (std::max(now.residual, moved) <= options.tolerance) {
      result.outcome = next.matrix.isZero(0) ? Outcome::zero_solution : Outcome::converged;
      s = next.matrix;
      v = next_v;
      break;
    }
    if (options.stop.requested()) {
      result.outcome = Outcome::interrupted;
      break;
    }
    if (!damping.follow(now.residual)) {
      result.outcome = Outcome::stagnated;
      break;
    }
    const double kept = damping.current();
    s = kept * s + (1 - kept) * next.matrix;
    v = {kept * v.symmetric + (1 - kept) * next_v.symmetric,
         kept * v.antisymmetric + (1 - kept) * next_v.antisymmetric};
  }
  return result;
}

AmpOptions checked(AmpOptions options) {
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance)) {
    throw InvalidParameter("tolerance", options.tolerance, "must be > 0 and finite");
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

void require_message_passing(const Problem& problem) {
  require_trainable(problem);
  if (problem.parametrization == Parametrization::untied && student_width(problem) < problem.dimension) {
    throw InvalidParameter("kappa", problem.kappa,
                           "message passing of an untied student needs full width: must be >= 1");
  }
}

namespace {

/// V = Q0, that of a student of which only the size is known.
Sectors start_susceptibility(const Problem& problem) {
  const double q0 = teacher_self_overlap(problem);
  const bool ordered = problem.parametrization == Parametrization::untied && problem.tokens > 1;
  return {q0, ordered ? q0 : 0};
}

/// A sector that the student has keeps a V > 0.
Sectors positive(const Sectors& susceptibility, const Sectors& pattern) {
  return {std::max(susceptibility.symmetric, vanishing),
          pattern.antisymmetric > 0 ? std::max(susceptibility.antisymmetric, vanishing) : 0};
}

double relative_change(double from, double to) {
  return from == to ? 0 : std::abs(to - from) / std::max(std::abs(from), std::abs(to));
}

double relative_change(const Matrix& from, const Matrix& to) {
  const double change = (to - from).norm();
  return change == 0 ? 0 : change / std::max(to.norm(), from.norm());
}

AmpIteration record(const Problem& problem, const Matrix& teacher, const Matrix& student) {
  AmpIteration now;
  now.overlap = overlap(student, teacher);
  if (problem.parametrization != Parametrization::untied) {
    now.self_overlap = {overlap(student, student), 0};
    return now;
  }
  const Matrix symmetric = symmetric_part(student);
  const Matrix antisymmetric = student - symmetric;
  now.self_overlap = {overlap(symmetric, symmetric), overlap(antisymmetric, antisymmetric)};
  return now;
}

}  // namespace

template AmpTrajectory iterate_amp(const Dataset<float>&, const Problem&, const Matrix&, const AmpOptions&);
template AmpTrajectory iterate_amp(const Dataset<double>&, const Problem&, const Matrix&, const AmpOptions&);

}  // namespace qklab::lab
