#include "qklab/theory/thresholds/ridgeless.hpp"

#include <cmath>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/core/bracketed_root.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/thresholds/thresholds.hpp"
#include "theory/erm/threshold_problem.hpp"

namespace qklab::theory {
namespace {

/// The student of given noise delta that interpolates, and the samples r alpha that give it that noise.
struct Interpolant {
  NoiseStudent student;
  double samples = 0;
};

Interpolant interpolant(const ThresholdProblem& problem, double delta);

constexpr int bits_of_a_root = 36;

}  // namespace

RidgelessStudent ridgeless_student(const Problem& problem, const QmcOptions& qmc) {
  if (problem.parametrization != Parametrization::tied) {
    throw InvalidParameter("parametrization", to_string(problem.parametrization),
                           "the student at vanishing weight decay is solved for tied");
  }
  const Threshold recovery = thresholds(problem).recovery;
  if (!recovery.alpha) throw InvalidParameter("kappa", problem.kappa, recovery.reason);
  const ThresholdProblem described = threshold_problem(problem);
  const double q0 = described.teacher_self_overlap;
  if (problem.alpha >= *recovery.alpha) return {q0, 0, {0, 0}};

  const auto log_samples = [&](double log_delta) {
    return std::log(interpolant(described, std::exp(log_delta)).samples /
                    (problem.alpha * described.visible));
  };
  const double lo = std::log(1e-6 * std::sqrt(q0));  // so near to recovery that no digit of alpha tells
  if (log_samples(lo) <= 0) return {q0, 0, {0, 0}};
  double hi = 0.5 * std::log(q0);
  while (log_samples(hi) > 0) hi += 1;
  const NoiseStudent student =
      interpolant(described, std::exp(bracketed_root(log_samples, lo, hi, bits_of_a_root))).student;
  const OutputExpectation expectation(channel_of(problem), 0, 0, qmc);
  const Estimate error = mean_and_error(
      expectation.test_error(ScoreOverlaps::from_orthogonal(q0, student.overlap, student.orthogonal)));
  return {student.overlap,
          student.squared_error,
          {error.value, problem.activation == Activation::softmax ? error.se : 0}};
}

namespace {

Interpolant interpolant(const ThresholdProblem& problem, double delta) {
  const auto excess = [&](double level) {
    const NoiseStudent student = problem.student(delta, level);
    return student.squared_error / (delta * delta) - student.response;
  };
  double hi = 2;
  while (excess(hi) < 0) hi *= 2;
  // Where rounding hides the sign at a threshold of zero, zero is the answer.
  const double level = excess(0) < 0 ? bracketed_root(excess, 0.0, hi, bits_of_a_root) : 0;
  const NoiseStudent student = problem.student(delta, level);
  return {student, student.response / 2};
}

}  // namespace
}  // namespace qklab::theory
