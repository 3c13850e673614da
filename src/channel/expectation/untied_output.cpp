#include "qklab/channel/expectation/untied_output.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "sampled_untied_softmax.hpp"

namespace qklab {
namespace {

/// Stands for V -> 0: g = -d loss/d x to all digits, far from underflow.
constexpr double kVanishing = 1e-40;

void check_noise(const char* name, double noise) {
  if (!(noise >= 0 && std::isfinite(noise))) {
    throw InvalidParameter(name, noise, "the variance of the noise must be >= 0 and finite");
  }
}

void require(bool condition, const char* name, double value, const char* allowed) {
  if (!condition) throw InvalidParameter(name, value, allowed);
}

void check_overlaps(const UntiedOverlaps& overlaps) {
  const ScoreOverlaps& symmetric = overlaps.symmetric;
  const auto finite = [](double value) { return std::isfinite(value); };
  require(symmetric.teacher_self_overlap > 0 && finite(symmetric.teacher_self_overlap),
          "teacher self-overlap", symmetric.teacher_self_overlap, "Q0 must be > 0 and finite");
  require(finite(symmetric.overlap), "overlap", symmetric.overlap, "m must be finite");
  require(symmetric.orthogonal >= 0 && finite(symmetric.orthogonal), "self-overlap", symmetric.self_overlap(),
          "q_s must be finite and >= m^2/Q0");
  require(overlaps.antisymmetric >= 0 && finite(overlaps.antisymmetric), "antisymmetric self-overlap",
          overlaps.antisymmetric, "q_a must be finite and >= 0");
}

void check_susceptibility(double susceptibility) {
  require(susceptibility > 0 && std::isfinite(susceptibility), "susceptibility", susceptibility,
          "V must be > 0 and finite");
}

int link_count(const Channel& channel) {
  return channel.tokens * (channel.tokens - 1) / 2;
}

/// loss = 2 |z + noise - e|^2 + 2 |noise' - t|^2, so that the two parts decouple (8.6).
UntiedOutputExpectations identity_expectations(const Channel& channel, double noise_in, double noise_out,
                                               const UntiedOverlaps& overlaps,
                                               const UntiedSusceptibilities& susceptibilities) {
  const int pairs = channel.score_dimension();
  const int links = link_count(channel);
  const double symmetric_misfit = overlaps.symmetric.squared_error() + noise_in + 0.5 * noise_out;
  const double antisymmetric_misfit = overlaps.antisymmetric + 0.5 * noise_out;
  const double symmetric = susceptibilities.symmetric + 0.25;
  const double antisymmetric = susceptibilities.antisymmetric + 0.25;
  UntiedOutputExpectations e;
  e.symmetric_square = pairs * symmetric_misfit / (symmetric * symmetric);
  e.antisymmetric_square = links * antisymmetric_misfit / (antisymmetric * antisymmetric);
  e.teacher_divergence = e.teacher_divergence_implicit = pairs / symmetric;
  e.symmetric_divergence = e.symmetric_divergence_implicit = -pairs / symmetric;
  e.antisymmetric_divergence = e.antisymmetric_divergence_implicit = -links / antisymmetric;
  e.symmetric_jacobian = pairs / (symmetric * symmetric);
  e.antisymmetric_jacobian = links / (antisymmetric * antisymmetric);
  e.loss = pairs * symmetric_misfit / (8 * symmetric * symmetric) +
           links * antisymmetric_misfit / (8 * antisymmetric * antisymmetric);
  return e;
}

std::vector<SampledUntiedSoftmax> sample(const Channel& channel, double noise_out,
                                         const QmcOptions& options) {
  const bool noisy = noise_out > 0;
  const int dimension = SampledUntiedSoftmax::dimension(channel, noisy);
  if (dimension > 3667) {
    throw InvalidParameter("tokens", std::to_string(channel.tokens),
                           "sampling the channel takes " + std::to_string(dimension) +
                               " dimensions, the Sobol net has at most 3667");
  }
  const double rows = 2 * dimension + 3 * channel.tokens * channel.tokens;
  require_memory(8 * rows * std::ldexp(1.0, options.log2_points),
                 "log2_points = " + std::to_string(options.log2_points), "sampling the softmax channel");
  const int count = (1 << options.log2_points) / options.scramblings;
  std::vector<std::optional<SampledUntiedSoftmax>> drawn(options.scramblings);
#pragma omp parallel for schedule(static)
  for (int s = 0; s < options.scramblings; ++s) {
    drawn[s].emplace(channel, noise_out, count, options.seed, static_cast<std::uint64_t>(s));
  }
  std::vector<SampledUntiedSoftmax> scramblings;
  for (auto& one : drawn) scramblings.push_back(std::move(*one));
  return scramblings;
}

}  // namespace

struct UntiedOutput::State {
  Channel channel;
  double noise_in;
  double noise_out;
  QmcOptions options;
  std::vector<SampledUntiedSoftmax> scramblings;  ///< empty for the identity
};

UntiedOutput::UntiedOutput(Channel channel, double noise_in, double noise_out, QmcOptions options) {
  checked_differentiable(channel);
  if (channel.tokens < 2) {
    throw InvalidParameter("tokens", std::to_string(channel.tokens), "ordered pairs of tokens need T >= 2");
  }
  check_noise("noise_in", noise_in);
  check_noise("noise_out", noise_out);
  checked(options);
  state_ = std::make_unique<State>(State{channel, noise_in, noise_out, options, {}});
  if (channel.activation == Activation::softmax) state_->scramblings = sample(channel, noise_out, options);
}

UntiedOutput::~UntiedOutput() = default;
UntiedOutput::UntiedOutput(UntiedOutput&&) noexcept = default;
UntiedOutput& UntiedOutput::operator=(UntiedOutput&&) noexcept = default;

std::vector<UntiedOutputExpectations> UntiedOutput::evaluate(const UntiedOverlaps& overlaps,
                                                             const UntiedSusceptibilities& susceptibilities) {
  check_overlaps(overlaps);
  check_susceptibility(susceptibilities.symmetric);
  check_susceptibility(susceptibilities.antisymmetric);
  State& state = *state_;
  if (state.channel.activation == Activation::identity) {
    return std::vector<UntiedOutputExpectations>(
        state.options.scramblings,
        identity_expectations(state.channel, state.noise_in, state.noise_out, overlaps, susceptibilities));
  }
  const ScoreMix mix = score_mix(overlaps.symmetric, state.noise_in);
  const double antisymmetric = std::sqrt(overlaps.antisymmetric);
  std::vector<UntiedOutputExpectations> expectations(state.options.scramblings);
#pragma omp parallel for schedule(dynamic)
  for (int s = 0; s < state.options.scramblings; ++s) {
    expectations[s] = state.scramblings[s].evaluate(mix, antisymmetric, susceptibilities);
  }
  return expectations;
}

std::vector<UntiedOutputExpectations> UntiedOutput::evaluate_at_zero_susceptibility(
    const UntiedOverlaps& overlaps) {
  return evaluate(overlaps, {kVanishing, kVanishing});
}

std::vector<double> UntiedOutput::test_error(const UntiedOverlaps& overlaps) const {
  check_overlaps(overlaps);
  const State& state = *state_;
  if (state.channel.activation == Activation::identity) {
    const double error = 2 * state.channel.score_dimension() * overlaps.symmetric.squared_error() +
                         2 * link_count(state.channel) * overlaps.antisymmetric;
    return std::vector<double>(state.options.scramblings, error);
  }
  const ScoreMix mix = score_mix(overlaps.symmetric, 0);
  const double antisymmetric = std::sqrt(overlaps.antisymmetric);
  std::vector<double> errors(state.options.scramblings);
#pragma omp parallel for schedule(static)
  for (int s = 0; s < state.options.scramblings; ++s) {
    errors[s] = state.scramblings[s].test_error(mix, antisymmetric);
  }
  return errors;
}

}  // namespace qklab
