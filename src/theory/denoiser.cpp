#include "qklab/theory/denoiser.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "qklab/core/error.hpp"

namespace qklab::theory {
namespace {

/// Contribution of a contour node to int f dmu.
double integral(std::complex<double> f, const ContourNode& node) {
  return -(f * node.g * node.dz).imag() / std::numbers::pi;
}

/// Contribution of a contour node to int f H dmu, H the Hilbert transform of mu.
double integral_with_hilbert(std::complex<double> f, const ContourNode& node) {
  return -(f * node.g * node.g * node.dz).imag() / (2 * std::numbers::pi);
}

}  // namespace

DenoisedStudent Denoiser::threshold(const ConjugateParameters& hats) const {
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  const double b = 2 * lambda_ / hats.overlap_hat;
  const double scale = hats.overlap_hat / hats.susceptibility_hat;
  const FreeConvolution mu(teacher_, delta);
  // A width ratio below the rank that the threshold leaves keeps the largest levels only.
  const double cut = kappa_ < 1 && mu.mass_above(b) > kappa_ ? std::max(b, mu.upper_quantile(kappa_)) : b;

  // E[S0 | level x] = x - 2 delta^2 H(x), and S = s(x) above the cut, 0 below. The squared error and the
  // defect of the overlap are built from what the student misses at each level, never as differences of O(1)
  // numbers.
  double trace = 0;     // int s
  double response = 0;  // int s H
  double misfit = 0;    // int (s - x)^2
  double defect = 0;    // int (x - s) E[S0|x] = Q0 - m
  for (const ContourNode& node : mu.contour_above(cut)) {
    const std::complex<double> s = scale * (node.z - b);
    const std::complex<double> missed = (1 - scale) * node.z + scale * b;
    trace += integral(s, node);
    response += integral_with_hilbert(s, node);
    misfit += integral(missed * missed, node);
    defect += integral(missed * node.z, node) - 2 * delta * delta * integral_with_hilbert(missed, node);
  }
  for (const ContourNode& node : mu.contour_below(cut)) {
    misfit += integral(node.z * node.z, node);
    defect += integral(node.z * node.z, node) - 2 * delta * delta * integral_with_hilbert(node.z, node);
  }
  const double squared_error = misfit + 4 * delta * delta * response - delta * delta;
  const double orthogonal = squared_error - defect * defect / teacher_self_overlap_;
  return {{teacher_self_overlap_ - defect, orthogonal, 2 * response / hats.overlap_hat},
          lambda_ * trace,
          {teacher_, true, delta, b, cut, scale}};
}

DenoisedStudent Denoiser::shrink(const ConjugateParameters& hats) const {
  const double shrinkage = 1 / (hats.susceptibility_hat + 4 * lambda_);
  const double overlap = hats.overlap_hat * teacher_self_overlap_ * shrinkage;
  const double orthogonal = hats.self_overlap_hat * shrinkage * shrinkage;
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  return {{overlap, orthogonal, shrinkage},
          lambda_ * (overlap * overlap / teacher_self_overlap_ + orthogonal),
          {teacher_, false, delta, 0, 0, hats.overlap_hat * shrinkage}};
}

Denoiser::Denoiser(const Problem& problem)
    : teacher_(teacher_law(problem)),
      parametrization_(problem.parametrization),
      teacher_self_overlap_(qklab::teacher_self_overlap(problem)),
      kappa_(problem.kappa),
      lambda_(problem.lambda) {
  if (parametrization_ == Parametrization::untied) {
    throw InvalidParameter("parametrization", to_string(parametrization_),
                           "the state evolution is solved for tied and direct");
  }
  if (parametrization_ == Parametrization::direct && kappa_ != 1) {
    throw InvalidParameter("kappa", kappa_, "a direct student has no width: must be 1");
  }
}

std::optional<DenoisedStudent> Denoiser::operator()(const ConjugateParameters& hats) const {
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (!usable(hats.overlap_hat) || !usable(hats.self_overlap_hat) || !usable(hats.susceptibility_hat)) {
    return std::nullopt;
  }
  return parametrization_ == Parametrization::direct ? shrink(hats) : threshold(hats);
}

bool Denoiser::answers_zero(const ConjugateParameters& hats) const {
  if (parametrization_ == Parametrization::direct) return false;
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  return 2 * lambda_ / hats.overlap_hat >= FreeConvolution(teacher_, delta).outer_edges().hi;
}

}  // namespace qklab::theory
