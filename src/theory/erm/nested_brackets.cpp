#include "nested_brackets.hpp"

#include <cmath>

#include "qklab/core/bracketed_root.hpp"
#include "threshold_problem.hpp"

namespace qklab::theory {
namespace {

/// Both equations of (3.1) at noise delta: the b that satisfies the second, and by how much the first is
/// missed.
struct Bracket {
  NoiseStudent student;
  double threshold = 0;  ///< b
  double missed = 0;     ///< (E + Delta)/(2 alpha r delta^2) - 1
};

Bracket bracket_at(const ThresholdProblem& problem, double samples, double lambda, double delta);

constexpr int bits_of_a_root = 52;

}  // namespace

std::optional<OrderParameters> solve_by_brackets(const Problem& problem) {
  const bool is_covered = problem.activation == Activation::identity &&
                          problem.parametrization != Parametrization::direct && problem.kappa >= 1 &&
                          problem.lambda > 0;
  if (!is_covered) return std::nullopt;
  const ThresholdProblem described = threshold_problem(problem);
  const double samples = 2 * problem.alpha * described.visible;
  const auto missed = [&](double log_delta) {
    return bracket_at(described, samples, problem.lambda, std::exp(log_delta)).missed;
  };
  const double unit = std::sqrt((described.teacher_self_overlap + described.noise) / samples);
  constexpr double smallest = 1e-8;
  constexpr double largest = 1e4;
  double lo = std::log(smallest * unit);
  if (!(missed(lo) > 0)) return std::nullopt;
  double hi = lo + 1;
  while (missed(hi) > 0 && hi < std::log(largest * unit)) {
    lo = hi;
    hi += 1;
  }
  if (!(missed(hi) < 0)) return std::nullopt;
  const double log_delta = bracketed_root(missed, lo, hi, bits_of_a_root);
  const Bracket found = bracket_at(described, samples, problem.lambda, std::exp(log_delta));
  // V = R/(4 (2 alpha r - R)), the difference by the second equation, which keeps its digits.
  const double susceptibility = found.student.response * found.threshold / (2 * problem.lambda);
  return OrderParameters{found.student.overlap, found.student.orthogonal, susceptibility};
}

namespace {

Bracket bracket_at(const ThresholdProblem& problem, double samples, double lambda, double delta) {
  const auto excess = [&](double log_level) {
    const double level = std::exp(log_level);
    return 2 * level * delta * (samples - problem.student(delta, level).response) - lambda;
  };
  // The left side of the second equation grows with b from where it is positive on.
  double hi = std::log(lambda / (2 * samples * delta));
  while (excess(hi) < 0) hi += 1;
  double lo = hi - 1;
  while (excess(lo) > 0) lo -= 1;
  const double level = std::exp(bracketed_root(excess, lo, hi, bits_of_a_root));
  const NoiseStudent student = problem.student(delta, level);
  return {student, level * delta, (student.squared_error + problem.noise) / (samples * delta * delta) - 1};
}

}  // namespace
}  // namespace qklab::theory
