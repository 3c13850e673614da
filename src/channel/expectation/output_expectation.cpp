#include "qklab/channel/expectation/output_expectation.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "sampled_softmax.hpp"

namespace qklab {
namespace {

/// Stands for V -> 0: g = -d loss/d e to all digits, far from underflow.
constexpr double kVanishing = 1e-40;

}  // namespace

struct OutputExpectation::State {
  Channel channel;
  double noise_in;
  double noise_out;
  QmcOptions options;
  std::vector<SampledSoftmax> scramblings;  ///< empty for the identity
};

namespace {

void check_noise(const char* name, double noise) {
  if (!(noise >= 0 && std::isfinite(noise))) {
    throw InvalidParameter(name, noise, "the variance of the noise must be >= 0 and finite");
  }
}

void check_overlaps(const ScoreOverlaps& overlaps) {
  if (!(overlaps.teacher_self_overlap > 0 && std::isfinite(overlaps.teacher_self_overlap))) {
    throw InvalidParameter("teacher self-overlap", overlaps.teacher_self_overlap,
                           "Q0 must be > 0 and finite");
  }
  if (!std::isfinite(overlaps.overlap)) {
    throw InvalidParameter("overlap", overlaps.overlap, "m must be finite");
  }
  const double rounding = 1e-12 * overlaps.overlap * overlaps.overlap / overlaps.teacher_self_overlap;
  if (!(overlaps.orthogonal >= -rounding && std::isfinite(overlaps.orthogonal))) {
    throw InvalidParameter("self-overlap", overlaps.self_overlap(), "q must be finite and >= m^2/Q0");
  }
}

void check_susceptibility(double susceptibility) {
  if (!(susceptibility > 0 && std::isfinite(susceptibility))) {
    throw InvalidParameter("susceptibility", susceptibility, "V must be > 0 and finite");
  }
}

/// loss = 2 |z + noise - e|^2, so that e* and all expectations are rational in V. Of the T x T label noise
/// the antisymmetric part cannot be fitted and only adds to the loss.
OutputExpectations identity_expectations(const Channel& channel, double noise_in, double noise_out,
                                         const ScoreOverlaps& overlaps, double susceptibility) {
  const int dimension = channel.score_dimension();
  const int tokens = channel.tokens;
  const double stiffness = susceptibility + 0.25;
  const double misfit = overlaps.squared_error() + noise_in + 0.5 * noise_out;
  const double shrink = 1 + 4 * susceptibility;
  OutputExpectations e;
  e.gradient_square = dimension * misfit / (stiffness * stiffness);
  e.teacher_divergence_stein = e.teacher_divergence_implicit = dimension / stiffness;
  e.student_divergence_stein = e.student_divergence_implicit = -dimension / stiffness;
  e.jacobian_square = dimension / (stiffness * stiffness);
  e.loss = 2 * dimension * misfit / (shrink * shrink) + noise_out * tokens * (tokens - 1) / 2;
  return e;
}

std::vector<SampledSoftmax> sample(const Channel& channel, double noise_out, const QmcOptions& options) {
  const bool noisy = noise_out > 0;
  const int dimension = GaussianPoints::dimension(channel, noisy);
  if (dimension > 3667) {
    throw InvalidParameter("tokens", std::to_string(channel.tokens),
                           "sampling the channel takes " + std::to_string(dimension) +
                               " dimensions, the Sobol net has at most 3667");
  }
  const double rows = dimension + 3 * channel.pair_count() + (noisy ? channel.tokens * channel.tokens : 0);
  require_memory(8 * rows * std::ldexp(1.0, options.log2_points),
                 "log2_points = " + std::to_string(options.log2_points), "sampling the softmax channel");
  const int count = (1 << options.log2_points) / options.scramblings;
  std::vector<std::optional<GaussianPoints>> points(options.scramblings);
#pragma omp parallel for schedule(static)
  for (int s = 0; s < options.scramblings; ++s) points[s].emplace(channel, noisy, count, options.seed, s);
  std::vector<SampledSoftmax> scramblings;
  for (auto& one : points) scramblings.emplace_back(channel, noise_out, std::move(*one));
  return scramblings;
}

}  // namespace

OutputExpectation::OutputExpectation(Channel channel, double noise_in, double noise_out, QmcOptions options) {
  checked_differentiable(channel);
  check_noise("noise_in", noise_in);
  check_noise("noise_out", noise_out);
  checked(options);
  state_ = std::make_unique<State>(State{channel, noise_in, noise_out, options, {}});
  if (channel.activation == Activation::softmax) state_->scramblings = sample(channel, noise_out, options);
}

OutputExpectation::~OutputExpectation() = default;
OutputExpectation::OutputExpectation(OutputExpectation&&) noexcept = default;
OutputExpectation& OutputExpectation::operator=(OutputExpectation&&) noexcept = default;

std::vector<OutputExpectations> OutputExpectation::evaluate(const ScoreOverlaps& overlaps,
                                                            double susceptibility) {
  check_overlaps(overlaps);
  check_susceptibility(susceptibility);
  State& state = *state_;
  if (state.channel.activation == Activation::identity) {
    return std::vector<OutputExpectations>(
        state.options.scramblings,
        identity_expectations(state.channel, state.noise_in, state.noise_out, overlaps, susceptibility));
  }
  const ScoreMix mix = score_mix(overlaps, state.noise_in);
  std::vector<OutputExpectations> expectations(state.options.scramblings);
#pragma omp parallel for schedule(static)
  for (int s = 0; s < state.options.scramblings; ++s) {
    expectations[s] = state.scramblings[s].evaluate(mix, susceptibility);
  }
  return expectations;
}

std::vector<OutputExpectations> OutputExpectation::evaluate_at_zero_susceptibility(
    const ScoreOverlaps& overlaps) {
  return evaluate(overlaps, kVanishing);
}

std::vector<double> OutputExpectation::test_error(const ScoreOverlaps& overlaps) const {
  check_overlaps(overlaps);
  const State& state = *state_;
  if (state.channel.activation == Activation::identity) {
    return std::vector<double>(state.options.scramblings,
                               2 * state.channel.score_dimension() * overlaps.squared_error());
  }
  const ScoreMix mix = score_mix(overlaps, 0);
  std::vector<double> errors(state.options.scramblings);
#pragma omp parallel for schedule(static)
  for (int s = 0; s < state.options.scramblings; ++s) errors[s] = state.scramblings[s].test_error(mix);
  return errors;
}

const Channel& OutputExpectation::channel() const {
  return state_->channel;
}
const QmcOptions& OutputExpectation::options() const {
  return state_->options;
}

}  // namespace qklab
