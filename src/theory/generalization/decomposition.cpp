#include "qklab/theory/generalization/decomposition.hpp"

#include <cmath>
#include <numbers>
#include <optional>

#include "qklab/channel/expectation/saturation.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::theory {
namespace {

/// What the recovered modes R hold, all per dimension.
struct Recovered {
  double teacher_square = 0;  ///< sum s^2
  double student_square = 0;  ///< sum learned^2
  double overlap = 0;         ///< sum s learned alignment
  int modes = 0;
};

Recovered recovered_modes(const std::vector<TeacherMode>& modes, int dimension);
Recovered recovered_band(const StudentSpectrum& spectrum, double teacher_square, int dimension);

std::vector<ModeContribution> contributions(const std::vector<TeacherMode>& modes, double scale,
                                            int dimension);

}  // namespace

Decomposition decompose(const Solution& solution, const QmcOptions& qmc) {
  return Decomposer(qmc)(solution);
}

Decomposition Decomposer::operator()(const Solution& solution) {
  if (!is_answer(solution.outcome)) {
    throw InvalidParameter("solution", std::string(describe(solution.outcome)), "must be converged");
  }
  const Problem& problem = solution.problem;
  if (is_sampled(problem)) {
    throw InvalidParameter("parametrization", to_string(problem.parametrization),
                           "the spectrum of untied weights of several tokens is known by samples only");
  }
  const double q0 = teacher_self_overlap(problem);
  const Saturation& saturated = saturation_of(problem);
  const double c = saturated.scale.value;
  const double m = solution.overlap.value;
  const double q = solution.self_overlap.value;

  Decomposition result;
  result.is_band = !std::holds_alternative<DiscreteLaw>(solution.spectrum.teacher);
  const std::vector<TeacherMode> modes = teacher_modes(solution.spectrum, problem.dimension);
  const Recovered kept = result.is_band ? recovered_band(solution.spectrum, q0, problem.dimension)
                                        : recovered_modes(modes, problem.dimension);
  result.parts = {q - kept.student_square, c * c * (q0 - kept.teacher_square),
                  kept.student_square - 2 * c * kept.overlap + c * c * kept.teacher_square,
                  -2 * c * (m - kept.overlap)};
  result.test_error = solution.test_error;
  result.saturation_error = saturated.test_error;
  result.scale = saturated.scale;
  result.gradient_self_overlap = saturated.gradient_self_overlap;
  result.gradient_scale = saturated.gradient_scale;
  result.mismatch.value = saturated.gradient_scale.value * (m - c * q0);
  result.mismatch.se = saturated.gradient_scale.se * std::abs(m - c * q0);
  const double first_order = saturated.gradient_self_overlap.value * result.parts.sum();
  result.remainder.value =
      solution.test_error.value - saturated.test_error.value - first_order - result.mismatch.value;
  result.remainder.se = std::hypot(solution.test_error.se, saturated.test_error.se, result.mismatch.se);
  result.recovered = kept.modes;
  result.modes = contributions(modes, c, problem.dimension);
  return result;
}

const Saturation& Decomposer::saturation_of(const Problem& problem) {
  const double q0 = teacher_self_overlap(problem);
  const bool is_known = saturation_ && problem.activation == last_.activation &&
                        problem.tokens == last_.tokens && problem.beta == last_.beta &&
                        problem.noise_in == last_.noise_in && q0 == teacher_self_overlap(last_);
  if (!is_known) {
    saturation_ = saturation(channel_of(problem), problem.noise_in, q0, qmc_);
    last_ = problem;
  }
  return *saturation_;
}

namespace {

Recovered recovered_modes(const std::vector<TeacherMode>& modes, int dimension) {
  Recovered sum;
  for (const TeacherMode& mode : modes) {
    if (!mode.recovered) continue;
    const double share = static_cast<double>(mode.multiplicity) / dimension;
    sum.teacher_square += mode.teacher * mode.teacher * share;
    sum.student_square += mode.learned * mode.learned * share;
    sum.overlap += mode.teacher * mode.learned * mode.alignment * share;
    sum.modes += mode.multiplicity;
  }
  return sum;
}

/// The gap of the spectrum of X below the band that the teacher's non-zero eigenvalues raise, if there is one
/// above the threshold.
std::optional<Interval> gap_below_band(const FreeConvolution& mu, double atom_at_zero) {
  constexpr double rounding = 1e-9;
  const std::vector<Interval> support = mu.support();
  for (std::size_t i = 1; i < support.size(); ++i) {
    const Interval gap{support[i - 1].hi, support[i].lo};
    if (std::abs(mu.mass_above((gap.lo + gap.hi) / 2) - (1 - atom_at_zero)) < rounding) return gap;
  }
  return std::nullopt;
}

Recovered recovered_band(const StudentSpectrum& spectrum, double teacher_square, int dimension) {
  Recovered sum;
  if (spectrum.scale == 0) return sum;
  const FreeConvolution mu(spectrum.teacher, spectrum.delta);
  double atom_at_zero = 0;
  for (const Atom& atom : atoms(spectrum.teacher)) atom_at_zero += atom.location == 0 ? atom.mass : 0;
  const std::optional<Interval> gap = gap_below_band(mu, atom_at_zero);
  if (!gap || gap->hi <= spectrum.cut) return sum;
  const double variance = spectrum.delta * spectrum.delta;
  const double shift = spectrum.parametrization == Parametrization::direct ? 0 : spectrum.threshold;
  for (const ContourNode& node : mu.contour_above((gap->lo + gap->hi) / 2)) {
    const std::complex<double> s = spectrum.scale * (node.z - shift);
    // Level x sees the teacher at x - 2 delta^2 H(x).
    sum.student_square -= (s * s * node.g * node.dz).imag() / std::numbers::pi;
    sum.overlap -= (s * (node.z - variance * node.g) * node.g * node.dz).imag() / std::numbers::pi;
  }
  sum.teacher_square = teacher_square;
  sum.modes = static_cast<int>(std::lround((1 - atom_at_zero) * dimension));
  return sum;
}

std::vector<ModeContribution> contributions(const std::vector<TeacherMode>& modes, double scale,
                                            int dimension) {
  std::vector<ModeContribution> result;
  for (const TeacherMode& mode : modes) {
    const double target = scale * mode.teacher;
    const double square =
        mode.learned * mode.learned - 2 * target * mode.learned * mode.alignment + target * target;
    result.push_back({mode, square / dimension});
  }
  return result;
}

}  // namespace
}  // namespace qklab::theory
