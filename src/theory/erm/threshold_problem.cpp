#include "threshold_problem.hpp"

#include <algorithm>
#include <cmath>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/core/bracketed_root.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::theory {
namespace {

double teacher_rank(const Law& teacher) {
  if (const auto* wishart = std::get_if<WishartLaw>(&teacher)) return std::min(wishart->kappa0, 1.0);
  double rank = 1;
  for (const Atom& atom : atoms(teacher)) {
    if (atom.location == 0) rank -= atom.mass;
  }
  return rank;
}

Problem without_width(Problem problem) {
  problem.kappa = 1;
  return problem;
}

}  // namespace

ThresholdProblem threshold_problem(const Problem& problem) {
  checked(problem);
  const Channel channel = checked_differentiable(channel_of(problem));
  const bool direct = problem.parametrization == Parametrization::direct;
  const Problem wide = without_width(problem);
  const std::optional<Denoiser> denoiser = is_sampled(problem) ? std::nullopt : std::optional<Denoiser>(wide);
  return {problem.activation,
          problem.parametrization,
          problem.tokens,
          problem.noise_in + problem.noise_out / 2,
          problem.noise_out,
          direct ? 1 : std::min(problem.kappa, 1.0),
          static_cast<double>(channel.score_dimension()),
          teacher_rank(denoiser ? denoiser->teacher() : teacher_law(problem)),
          teacher_self_overlap(problem),
          std::holds_alternative<WishartTeacher>(problem.teacher),
          wide,
          denoiser};
}

NoiseStudent ThresholdProblem::student(double delta, double level) const {
  const auto denoised = *denoiser->with_weight_decay(level * delta / 2)({1, delta * delta, 1});
  const double defect = teacher_self_overlap - denoised.order.overlap;
  return {denoised.order.overlap, denoised.order.orthogonal,
          defect * defect / teacher_self_overlap + denoised.order.orthogonal, denoised.order.susceptibility,
          1 - zero_fraction(denoised.spectrum)};
}

double ThresholdProblem::interpolation_noise() const {
  const auto missing = [&](double log_delta) {
    const double delta = std::exp(log_delta);
    const NoiseStudent all = student(delta, 0);
    return delta * delta * all.response - all.squared_error - noise;
  };
  double lo = std::log(1e-6 * std::sqrt(teacher_self_overlap));
  double at_lo = missing(lo);
  double hi = lo + 1;
  double at_hi = missing(hi);
  while (at_hi <= 0) {
    lo = hi;
    at_lo = at_hi;
    hi += 1;
    at_hi = missing(hi);
  }
  return std::exp(bracketed_root(missing, lo, hi, at_lo, at_hi, 48));
}

}  // namespace qklab::theory
