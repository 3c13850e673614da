#include <algorithm>
#include <numbers>
#include <vector>

#include "amp_labels.hpp"
#include "amp_output.hpp"
#include "qklab/channel/proximal/proximal.hpp"
#include "qklab/core/error.hpp"

namespace qklab::lab {
namespace {

/// Points the proximal map takes at once.
constexpr int batch = 128;

/// The loss is 2 |z - e|^2 + constant (T = 1: (y - sqrt 2 e)^2), z the label in white coordinates:
/// g = (z - w)/(V + 1/4).
class IdentityOutput final : public AmpOutput {
 public:
  explicit IdentityOutput(int tokens) : tokens_(tokens) {}
  AmpOutputSums residuals(const AmpBlock& block, const Sectors& susceptibility) override;

 private:
  int tokens_;
  std::vector<double> labels_;
};

/// Batches of the proximal map, started at e(S): the minimiser, once S is right.
class SoftmaxOutput final : public AmpOutput {
 public:
  explicit SoftmaxOutput(const Channel& channel) : tokens_(channel.tokens), map_(channel, batch) {}
  AmpOutputSums residuals(const AmpBlock& block, const Sectors& susceptibility) override;

 private:
  int tokens_;
  ProximalMap map_;
  std::vector<double> labels_;
};

}  // namespace

AmpOutputFactory erm_output(const Problem& problem) {
  const Channel channel = checked(channel_of(problem));
  if (problem.parametrization == Parametrization::untied && problem.tokens > 1) {
    throw InvalidParameter("parametrization", to_string(problem.parametrization),
                           "message passing takes untied students of one token");
  }
  return [channel]() -> std::unique_ptr<AmpOutput> {
    if (channel.activation == Activation::identity) return std::make_unique<IdentityOutput>(channel.tokens);
    return std::make_unique<SoftmaxOutput>(channel);
  };
}

namespace {

AmpOutputSums IdentityOutput::residuals(const AmpBlock& block, const Sectors& susceptibility) {
  const double* labels = labels_of(tokens_, block, labels_);
  const double gain = 1 / (susceptibility.symmetric + 0.25);
  const auto at = [&](int row) { return static_cast<std::size_t>(row) * block.count; };
  AmpOutputSums sums;
  for (int a = 0, pair = 0; a < tokens_; ++a) {
    for (int b = a; b < tokens_; ++b, ++pair) {
      const double* upper = labels + at(a * tokens_ + b);
      const double* lower = labels + at(b * tokens_ + a);
      const double* w = block.centers + at(pair);
      double* g = block.residuals + at(pair);
      for (int s = 0; s < block.count; ++s) {
        const double z = a == b ? upper[s] / std::numbers::sqrt2 : (upper[s] + lower[s]) / 2;
        const double noise = (upper[s] - lower[s]) / 2;
        g[s] = gain * (z - w[s]);
        const double misfit = g[s] / 4;
        sums.residual_square.symmetric += g[s] * g[s];
        sums.loss += 2 * (misfit * misfit + noise * noise);
      }
    }
  }
  const int pairs = tokens_ * (tokens_ + 1) / 2;
  sums.divergence.symmetric = -gain * pairs * block.count;
  return sums;
}

AmpOutputSums SoftmaxOutput::residuals(const AmpBlock& block, const Sectors& susceptibility) {
  const double* labels = labels_of(tokens_, block, labels_);
  const int pairs = map_.center.rows();
  const auto at = [&](int row) { return static_cast<std::size_t>(row) * block.count; };
  AmpOutputSums sums;
  for (int first = 0; first < block.count; first += batch) {
    const int count = std::min(batch, block.count - first);
    for (int k = 0; k < pairs; ++k) {
      std::copy_n(block.centers + at(k) + first, count, map_.center.row(k));
      std::copy_n(block.centers + at(k) + first, count, map_.preimage.row(k));
      std::copy_n(block.scores + at(k) + first, count, map_.minimiser.row(k));
    }
    for (int k = 0; k < map_.label.rows(); ++k) {
      std::copy_n(labels + at(k) + first, count, map_.label.row(k));
    }
    map_.solve(count, susceptibility.symmetric, ProximalMap::Start::minimiser);
    for (int k = 0; k < pairs; ++k) {
      const double* g = map_.residual.row(k);
      for (int i = 0; i < count; ++i) sums.residual_square.symmetric += g[i] * g[i];
      std::copy_n(g, count, block.residuals + at(k) + first);
    }
    for (int i = 0; i < count; ++i) {
      sums.divergence.symmetric += map_.center_divergence.row(0)[i];
      sums.loss += map_.loss.row(0)[i];
      sums.competing += map_.competing.row(0)[i];
      sums.unconverged += 1 - map_.converged.row(0)[i];
    }
  }
  return sums;
}

}  // namespace
}  // namespace qklab::lab
