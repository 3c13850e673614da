#include "qklab/channel/bayes/bayes_residual.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "hardmax_posterior.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

void require_noise(const char* name, double noise);
Evidence linear_posterior(const Channel& channel, const std::vector<double>& seen, const double* center,
                          double variance, double* residual);
std::vector<double> visible_scores(const Channel& channel, const double* label);
int place_of_largest(int tokens, const double* row);

}  // namespace

BayesResidual::BayesResidual(const Channel& channel, double noise_in, double noise_out)
    : channel_(checked(channel)), noise_(noise_in + noise_out / 2) {
  require_noise("noise_in", noise_in);
  require_noise("noise_out", noise_out);
  if (channel.activation != Activation::identity && noise_out > 0) {
    throw InvalidParameter("noise_out", noise_out,
                           "the posterior of " + to_string(channel.activation) +
                               " labels is known without noise on them: must be 0 (noise_in may be > 0)");
  }
  if (channel.activation == Activation::hardmax && channel.tokens > 3) {
    throw InvalidParameter("tokens", channel.tokens,
                           "the posterior of hardmax labels is known for two and three tokens");
  }
}

Evidence BayesResidual::operator()(const double* label, const double* center, double variance,
                                   double* residual) const {
  const double seen_variance = variance + noise_;
  if (channel_.activation == Activation::hardmax) {
    std::array<int, 3> largest{};
    for (int a = 0; a < channel_.tokens; ++a) {
      largest[a] = place_of_largest(channel_.tokens, label + a * channel_.tokens);
    }
    return hardmax_posterior(channel_.tokens, largest.data(), center, seen_variance, residual);
  }
  return linear_posterior(channel_, visible_scores(channel_, label), center, seen_variance, residual);
}

namespace {

void require_noise(const char* name, double noise) {
  if (!(noise >= 0 && std::isfinite(noise))) {
    throw InvalidParameter(name, noise, "the variance of the noise must be >= 0 and finite");
  }
}

/// g = (z - w)/V in the visible directions, z the noisy scores.
Evidence linear_posterior(const Channel& channel, const std::vector<double>& seen, const double* center,
                          double variance, double* residual) {
  const int tokens = channel.tokens;
  double along = 0;
  for (int a = 0, k = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, ++k) {
      residual[k] = (seen[k] - center[k]) / variance;
      along += residual[k] * (a == b ? 1 : std::numbers::sqrt2) / tokens;
    }
  }
  double square = 0;
  for (int a = 0, k = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, ++k) {
      if (channel.activation == Activation::softmax) {
        residual[k] -= along * (a == b ? 1 : std::numbers::sqrt2) / tokens;
      }
      square += residual[k] * residual[k];
    }
  }
  const int dimension = channel.score_dimension();
  return {-0.5 * (square * variance + dimension * std::log(2 * std::numbers::pi * variance)),
          -dimension / variance};
}

/// Noisy scores in white coordinates; of the softmax up to what all share. log y_ab = beta h_ab + c_a, and
/// h_ab = h_ba gives c_a - c_0 = log y_a0 - log y_0a.
std::vector<double> visible_scores(const Channel& channel, const double* label) {
  const int tokens = channel.tokens;
  const bool is_softmax = channel.activation == Activation::softmax;
  const auto score = [&](int a, int b) {
    if (!is_softmax) return label[a * tokens + b];
    const double shift = std::log(label[a * tokens]) - std::log(label[a]);
    return (std::log(label[a * tokens + b]) - shift) / channel.beta;
  };
  std::vector<double> white;
  for (int a = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b) {
      white.push_back(0.5 * (score(a, b) + score(b, a)) / (a == b ? std::numbers::sqrt2 : 1));
    }
  }
  return white;
}

int place_of_largest(int tokens, const double* row) {
  int place = 0;
  for (int b = 1; b < tokens; ++b) {
    if (row[b] > row[place]) place = b;
  }
  return place;
}

}  // namespace
}  // namespace qklab
