#include "qklab/theory/erm/denoiser.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <vector>

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

/// The integrals of (2.7) over a piece of the spectrum on which the student is s(x) = scale (x - shift).
///
/// E[S0 | level x] = x - 2 delta^2 H(x). The squared error and the defect of the overlap are built from what
/// the student misses at each level, never as differences of O(1) numbers.
struct LevelIntegrals {
  double trace = 0;     ///< int s
  double response = 0;  ///< int s H
  double misfit = 0;    ///< int (x - s)^2
  double defect = 0;    ///< int (x - s) E[S0|x]

  LevelIntegrals(const std::vector<ContourNode>& piece, double delta, double scale, double shift) {
    for (const ContourNode& node : piece) {
      const std::complex<double> s = scale * (node.z - shift);
      const std::complex<double> missed = (1 - scale) * node.z + scale * shift;
      trace += integral(s, node);
      response += integral_with_hilbert(s, node);
      misfit += integral(missed * missed, node);
      defect += integral(missed * node.z, node) - 2 * delta * delta * integral_with_hilbert(missed, node);
    }
  }
};

void require_closed_form(const Problem& problem);
bool has_same_teacher(const Problem& left, const Problem& right);

}  // namespace

DenoisedStudent Denoiser::threshold(const ConjugateParameters& hats) const {
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  const double b = 2 * problem_.lambda / hats.overlap_hat;
  const double scale = hats.overlap_hat / hats.susceptibility_hat;
  const FreeConvolution mu(*teacher_, delta);
  // A width ratio below the rank that the threshold leaves keeps the largest levels only.
  const double cut = problem_.kappa < 1 && mu.mass_above(b) > problem_.kappa
                         ? std::max(b, mu.upper_quantile(problem_.kappa))
                         : b;

  const LevelIntegrals kept(mu.contour_above(cut), delta, scale, b);
  const LevelIntegrals dropped(mu.contour_below(cut), delta, 0, 0);
  const double defect = kept.defect + dropped.defect;
  const double squared_error =
      kept.misfit + dropped.misfit + 4 * delta * delta * kept.response - delta * delta;
  return {{teacher_self_overlap_ - defect, squared_error - defect * defect / teacher_self_overlap_,
           2 * kept.response / hats.overlap_hat},
          problem_.lambda * kept.trace,
          {*teacher_, Parametrization::tied, delta, b, cut, scale}};
}

DenoisedStudent Denoiser::threshold_both_sides(const ConjugateParameters& hats) const {
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  const double b = 2 * problem_.lambda / hats.overlap_hat;
  const double scale = hats.overlap_hat / hats.susceptibility_hat;
  const FreeConvolution mu(*teacher_, delta);

  const std::vector<ContourNode> lowest = mu.contour_below(-b);
  const LevelIntegrals positive(mu.contour_above(b), delta, scale, b);
  const LevelIntegrals negative(lowest, delta, scale, -b);
  // What lies between the thresholds is dropped: all below b less all below -b.
  const LevelIntegrals below_upper(mu.contour_below(b), delta, 0, 0);
  const LevelIntegrals below_lower(lowest, delta, 0, 0);
  const double defect = positive.defect + negative.defect + (below_upper.defect - below_lower.defect);
  const double response = positive.response + negative.response;
  const double squared_error = positive.misfit + negative.misfit + (below_upper.misfit - below_lower.misfit) +
                               4 * delta * delta * response - delta * delta;
  return {{teacher_self_overlap_ - defect, squared_error - defect * defect / teacher_self_overlap_,
           2 * response / hats.overlap_hat},
          problem_.lambda * (positive.trace - negative.trace),
          {*teacher_, Parametrization::untied, delta, b, b, scale}};
}

DenoisedStudent Denoiser::shrink(const ConjugateParameters& hats) const {
  const double shrinkage = 1 / (hats.susceptibility_hat + 4 * problem_.lambda);
  const double overlap = hats.overlap_hat * teacher_self_overlap_ * shrinkage;
  const double orthogonal = hats.self_overlap_hat * shrinkage * shrinkage;
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  return {{overlap, orthogonal, shrinkage},
          problem_.lambda * (overlap * overlap / teacher_self_overlap_ + orthogonal),
          {*teacher_, Parametrization::direct, delta, 0, 0, hats.overlap_hat * shrinkage}};
}

Denoiser::Denoiser(const Problem& problem)
    : problem_(problem),
      teacher_(std::make_shared<const Law>(teacher_law(problem))),
      teacher_self_overlap_(qklab::teacher_self_overlap(problem)) {
  require_closed_form(problem);
}

void Denoiser::retarget(const Problem& problem) {
  require_closed_form(problem);
  if (!has_same_teacher(problem, problem_)) {
    teacher_ = std::make_shared<const Law>(teacher_law(problem));
    teacher_self_overlap_ = qklab::teacher_self_overlap(problem);
  }
  problem_ = problem;
}

Denoiser Denoiser::with_weight_decay(double lambda) const {
  Denoiser other = *this;
  other.problem_.lambda = lambda;
  return other;
}

std::optional<DenoisedStudent> Denoiser::operator()(const ConjugateParameters& hats) const {
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (!usable(hats.overlap_hat) || !usable(hats.self_overlap_hat) || !usable(hats.susceptibility_hat)) {
    return std::nullopt;
  }
  switch (problem_.parametrization) {
    case Parametrization::tied:
      return threshold(hats);
    case Parametrization::direct:
      return shrink(hats);
    case Parametrization::untied:
      return threshold_both_sides(hats);
  }
  return std::nullopt;
}

bool Denoiser::answers_zero(const ConjugateParameters& hats) const {
  if (problem_.parametrization == Parametrization::direct) return false;
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  const Interval edges = FreeConvolution(*teacher_, delta).outer_edges();
  const double largest =
      problem_.parametrization == Parametrization::tied ? edges.hi : std::max(edges.hi, -edges.lo);
  return 2 * problem_.lambda / hats.overlap_hat >= largest;
}

namespace {

void require_closed_form(const Problem& problem) {
  if (problem.parametrization == Parametrization::untied && problem.tokens > 1) {
    throw InvalidParameter("tokens", problem.tokens,
                           "the matrix side of an untied student is in closed form for one token");
  }
  if (problem.parametrization == Parametrization::untied && problem.kappa < 1) {
    throw InvalidParameter("kappa", problem.kappa,
                           "an untied student's state evolution needs full width: must be >= 1");
  }
  if (problem.parametrization == Parametrization::direct && problem.kappa != 1) {
    throw InvalidParameter("kappa", problem.kappa, "a direct student has no width: must be 1");
  }
}

bool has_same_teacher(const Problem& left, const Problem& right) {
  if (left.teacher.index() != right.teacher.index() || left.dimension != right.dimension) return false;
  if (const auto* wishart = std::get_if<WishartTeacher>(&left.teacher)) {
    return wishart->kappa0 == std::get<WishartTeacher>(right.teacher).kappa0;
  }
  if (const auto* power = std::get_if<PowerLawTeacher>(&left.teacher)) {
    const auto& other = std::get<PowerLawTeacher>(right.teacher);
    return power->gamma == other.gamma && power->modes == other.modes;
  }
  return std::get<SpectrumTeacher>(left.teacher).eigenvalues ==
         std::get<SpectrumTeacher>(right.teacher).eigenvalues;
}

}  // namespace
}  // namespace qklab::theory
