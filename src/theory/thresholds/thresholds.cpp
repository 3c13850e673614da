#include "qklab/theory/thresholds/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/core/bracketed_root.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "theory/erm/threshold_problem.hpp"

namespace qklab::theory {
namespace {

Threshold interpolation_threshold(const ThresholdProblem& problem);
Threshold recovery_threshold(const ThresholdProblem& problem);
Threshold bayes_threshold(const ThresholdProblem& problem);

Threshold none(const std::string& reason) {
  return {std::nullopt, reason};
}

/// Moments int_{x > u} x^k of the semicircle of radius 2.
struct UpperMoments {
  double mass;
  double mean;
  double square;

  explicit UpperMoments(double u) {
    const double root = std::sqrt(std::max(0.0, 4 - u * u));
    mass = (std::acos(std::clamp(u / 2, -1.0, 1.0)) - u * root / 4) / std::numbers::pi;
    mean = root * root * root / (6 * std::numbers::pi);
    square = mass + u * root * root * root / (8 * std::numbers::pi);
  }
};

constexpr const char* width_cuts = "a student this narrow poses no convex problem: not known";
constexpr const char* untied_tokens = "not known for an untied student of several tokens";

/// As many visible scores as the student has free entries.
double counting(const ThresholdProblem& problem) {
  const bool is_symmetric = problem.parametrization != Parametrization::untied;
  // An untied student of one token is seen through its symmetric part, which is free when it is wide enough.
  const bool is_free = problem.tokens == 1 && problem.kappa == 1;
  if (!is_symmetric && !is_free) return std::numeric_limits<double>::quiet_NaN();
  return problem.kappa * (2 - problem.kappa) / (2 * problem.visible);
}

}  // namespace

Thresholds thresholds(const Problem& problem) {
  const ThresholdProblem described = threshold_problem(problem);
  return {interpolation_threshold(described), recovery_threshold(described), bayes_threshold(described),
          counting(described)};
}

RecoveryShape recovery_shape(double rank, bool two_sided) {
  if (!(rank > 0)) throw InvalidParameter("rank", rank, "the target's rank ratio must be > 0");
  if (rank >= 1) return {1, 0, 1};
  const double sides = two_sided ? 2 : 1;
  const double rest = 1 - rank;
  // In units of the noise on the complement of the target's range, a semicircle of radius 2 sqrt(rest).
  const auto slope = [&](double u) {
    const UpperMoments above(u);
    return rank * u - rest * sides * (above.mean - u * above.mass);
  };
  const double u = bracketed_root(slope, 0.0, 2.0, 52);
  const UpperMoments above(u);
  const double excess = above.square - 2 * u * above.mean + u * u * above.mass;
  return {rank * rank + 2 * rank * rest + rank * rest * u * u + sides * rest * rest * excess,
          std::sqrt(rest) * u, rank + sides * rest * above.mass};
}

namespace {

Threshold interpolation_threshold(const ThresholdProblem& problem) {
  if (problem.activation == Activation::softmax && problem.noise_out > 0) {
    return none("labels outside the range of the softmax are never interpolated");
  }
  if (problem.parametrization == Parametrization::untied && problem.tokens > 1) {
    return none(untied_tokens);
  }
  if (problem.noise == 0) {
    return none(problem.kappa < problem.teacher_rank ? width_cuts
                                                     : "labels without noise are interpolated at any alpha");
  }
  if (problem.parametrization == Parametrization::tied) {
    const double delta = problem.interpolation_noise();
    const NoiseStudent student = problem.student(delta, 0);
    if (problem.kappa < student.rank) return none(width_cuts);
    return {student.response / (2 * problem.visible), ""};
  }
  // S = X: as many equations as free entries, whatever the noise.
  if (problem.kappa < 1) return none(width_cuts);
  return {1 / (2 * problem.visible), ""};
}

Threshold recovery_threshold(const ThresholdProblem& problem) {
  if (problem.noise > 0) return none("noise hides the target at any alpha");
  if (problem.kappa < problem.teacher_rank) return none("the student is narrower than the target");
  if (problem.parametrization == Parametrization::direct) return {1 / (2 * problem.visible), ""};
  const bool untied = problem.parametrization == Parametrization::untied;
  if (untied && problem.tokens > 1) return none(untied_tokens);
  const RecoveryShape shape = recovery_shape(problem.teacher_rank, untied);
  if (problem.kappa < shape.rank) return none(width_cuts);
  return {shape.degrees / (2 * problem.visible), ""};
}

Threshold bayes_threshold(const ThresholdProblem& problem) {
  if (problem.noise > 0) return none("noise hides the target at any alpha");
  if (!problem.is_wishart) return none("the Bayes-optimal reference is known for a wishart teacher");
  return {problem.teacher_rank * (2 - problem.teacher_rank) / (2 * problem.visible), ""};
}

}  // namespace
}  // namespace qklab::theory
