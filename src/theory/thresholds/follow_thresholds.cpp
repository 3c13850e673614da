#include <Eigen/Core>
#include <cmath>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/core/bracketed_root.hpp"
#include "qklab/theory/erm/denoiser.hpp"
#include "qklab/theory/fixed_point/fixed_point.hpp"
#include "qklab/theory/thresholds/thresholds.hpp"
#include "theory/erm/state_evolution_map.hpp"
#include "theory/erm/threshold_problem.hpp"

namespace qklab::theory {
namespace {

/// The value at the largest V, and what the last factor of ten changed.
template <class Follow>
std::optional<FollowedThreshold> at_largest(double susceptibility, Follow alpha_at) {
  const std::optional<double> before = alpha_at(susceptibility / 10);
  const std::optional<double> last = alpha_at(susceptibility);
  if (!before || !last) return std::nullopt;
  return FollowedThreshold{*last, *last - *before};
}

/// (6.9): the sample ratio at which the student that is about to be recovered has susceptibility V.
std::optional<double> alpha_of_recovered(const ThresholdProblem& problem, OutputExpectation& expectation,
                                         double susceptibility);

/// lambda = 0 with noise: the fixed point of given V, with alpha in its place among the unknowns.
class Interpolator {
 public:
  Interpolator(const Problem& problem, const ThresholdOptions& options);
  std::optional<double> alpha_at(double susceptibility);

 private:
  std::optional<Eigen::VectorXd> map(const Eigen::VectorXd& x, double susceptibility);

  double teacher_self_overlap_;
  Denoiser denoiser_;
  OutputExpectation expectation_;
  Eigen::VectorXd x_;  ///< (m/Q0, log((q - m^2/Q0)/Q0), log alpha)
};

Problem at_zero_decay(Problem problem) {
  problem.lambda = 0;
  return problem;
}

}  // namespace

std::optional<FollowedThreshold> follow_to_recovery(const Problem& problem, const ThresholdOptions& options) {
  if (!thresholds(problem).recovery.alpha) return std::nullopt;
  const ThresholdProblem described = threshold_problem(problem);
  OutputExpectation expectation(channel_of(problem), 0, 0, options.qmc);
  return at_largest(options.susceptibility,
                    [&](double V) { return alpha_of_recovered(described, expectation, V); });
}

std::optional<FollowedThreshold> follow_to_interpolation(const Problem& problem,
                                                         const ThresholdOptions& options) {
  if (!thresholds(problem).interpolation.alpha) return std::nullopt;
  Interpolator interpolator(at_zero_decay(threshold_problem(problem).problem), options);
  return at_largest(options.susceptibility, [&](double V) { return interpolator.alpha_at(V); });
}

namespace {

std::optional<double> alpha_of_recovered(const ThresholdProblem& problem, OutputExpectation& expectation,
                                         double susceptibility) {
  const double q0 = problem.teacher_self_overlap;
  // At e* = z the proximal map is linear, and its slope depends on the sample through the Hessian alone.
  const OutputExpectations output =
      mean_over_scramblings(expectation.evaluate(ScoreOverlaps::from_orthogonal(q0, q0, 0), susceptibility));
  const double slope = -output.student_divergence_implicit;
  const double visible_by_noise = slope * slope / output.jacobian_square;
  const double visible_by_response = slope * susceptibility;
  if (problem.parametrization == Parametrization::direct) return 1 / (2 * visible_by_response);
  // Small against the target's eigenvalues, so that what remains is the shape of the noise.
  const double delta = 1e-6 * std::sqrt(q0);
  const auto mismatch = [&](double level) {
    const NoiseStudent student = problem.student(delta, level);
    return student.squared_error / (delta * delta) / student.response -
           visible_by_noise / visible_by_response;
  };
  double lo = 0;
  double hi = 2;
  double at_hi = mismatch(hi);
  for (int i = 0; i < 60 && at_hi < 0; ++i) {
    hi *= 2;
    at_hi = mismatch(hi);
  }
  const double at_lo = mismatch(lo);
  if (!(at_lo < 0) || !(at_hi > 0)) return std::nullopt;
  const double level = bracketed_root(mismatch, lo, hi, at_lo, at_hi, 40);
  return problem.student(delta, level).response / (2 * visible_by_response);
}

Interpolator::Interpolator(const Problem& problem, const ThresholdOptions& options)
    : teacher_self_overlap_(teacher_self_overlap(problem)),
      denoiser_(problem),
      expectation_(channel_of(problem), problem.noise_in, problem.noise_out, options.qmc),
      x_(Eigen::Vector3d(0.6, std::log(0.5 + problem.noise_in + problem.noise_out), 0)) {}

std::optional<double> Interpolator::alpha_at(double susceptibility) {
  // A sampled proximal map jumps from point to point: the sampled fixed point is no sharper than this.
  const bool is_sampled = expectation_.channel().activation == Activation::softmax;
  const FixedPoint point =
      solve_fixed_point([&](const Eigen::VectorXd& x) { return map(x, susceptibility); }, x_,
                        {.tolerance = is_sampled ? 1e-4 : 1e-8, .max_evaluations = is_sampled ? 50 : 200});
  if (point.x.allFinite()) x_ = point.x;
  return is_answer(point.outcome) ? std::optional(std::exp(point.x[2])) : std::nullopt;
}

std::optional<Eigen::VectorXd> Interpolator::map(const Eigen::VectorXd& x, double susceptibility) {
  const double q0 = teacher_self_overlap_;
  const OutputExpectations output = mean_over_scramblings(expectation_.evaluate(
      ScoreOverlaps::from_orthogonal(q0, q0 * x[0], q0 * std::exp(x[1])), susceptibility));
  const double samples = 2 * std::exp(x[2]);
  const auto student = denoiser_({samples * output.teacher_divergence_stein, samples * output.gradient_square,
                                  -samples * output.student_divergence_stein});
  if (!student) return std::nullopt;
  return Eigen::Vector3d(student->order.overlap / q0, std::log(student->order.orthogonal / q0),
                         x[2] + std::log(student->order.susceptibility / susceptibility));
}

}  // namespace
}  // namespace qklab::theory
