#include "dynamics_theory.hpp"

#include <algorithm>
#include <array>

namespace qklab::experiment {

std::optional<dynamics::SampleLoss> symmetric_sample_loss(const AttentionIndexedModel& model) {
  using Entries = dynamics::SampleLoss::Entries;
  if (model.heads != 1 || model.teacher_heads != 1 || !model.centred) return std::nullopt;
  if (!model.covariance.isIdentity(0) || model.beta != model.teacher_beta) return std::nullopt;
  dynamics::SampleLoss loss;
  loss.tokens = model.tokens;
  if (model.architecture == Architecture::softmax) {
    loss.beta = model.beta;
    return loss;
  }
  loss.activation = Activation::identity;
  if (model.architecture == Architecture::linear || model.architecture == Architecture::denoising) {
    return loss;
  }
  const bool single_index = model.architecture == Architecture::h1 ||
                            model.architecture == Architecture::h2 || model.architecture == Architecture::h3;
  if (!single_index || model.series != model.teacher_series) return std::nullopt;
  if (model.tokens > 1) loss.entries = Entries::one_pair;
  loss.tokens = std::min(model.tokens, 2);
  const std::array<double, 3> degrees[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Activation activations[] = {Activation::identity, Activation::hermite2, Activation::hermite3};
  for (int k = 0; k < 3; ++k) {
    if (model.series != degrees[k]) continue;
    loss.activation = activations[k];
    return loss;
  }
  return std::nullopt;
}

}  // namespace qklab::experiment
