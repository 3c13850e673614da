#include <cstddef>
#include <limits>
#include <vector>

#include "amp_labels.hpp"
#include "amp_output.hpp"
#include "qklab/channel/bayes/bayes_residual.hpp"

namespace qklab::lab {
namespace {

/// g = grad_w log Z, (5.6): V g is the step from w to the posterior mean of the scores.
class BayesOutput final : public AmpOutput {
 public:
  explicit BayesOutput(const BayesResidual& residual) : residual_(residual) {}
  AmpOutputSums residuals(const AmpBlock& block, const Sectors& susceptibility) override;

 private:
  BayesResidual residual_;
  std::vector<double> labels_;
};

}  // namespace

AmpOutputFactory bayes_output(const Problem& problem) {
  const BayesResidual residual(channel_of(problem), problem.noise_in, problem.noise_out);
  return [residual]() -> std::unique_ptr<AmpOutput> { return std::make_unique<BayesOutput>(residual); };
}

namespace {

AmpOutputSums BayesOutput::residuals(const AmpBlock& block, const Sectors& susceptibility) {
  const Channel& channel = residual_.channel();
  const auto count = static_cast<std::size_t>(block.count);
  const double* labels = labels_of(channel.tokens, block, labels_);
  std::vector<double> label(static_cast<std::size_t>(channel.tokens) * channel.tokens);
  std::vector<double> center(static_cast<std::size_t>(channel.pair_count()));
  std::vector<double> g(center.size());
  AmpOutputSums sums;
  sums.loss = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t k = 0; k < label.size(); ++k) label[k] = labels[k * count + s];
    for (std::size_t k = 0; k < center.size(); ++k) center[k] = block.centers[k * count + s];
    const Evidence evidence = residual_(label.data(), center.data(), susceptibility.symmetric, g.data());
    sums.divergence.symmetric += evidence.divergence;
    for (std::size_t k = 0; k < g.size(); ++k) {
      sums.residual_square.symmetric += g[k] * g[k];
      block.residuals[k * count + s] = g[k];
    }
  }
  return sums;
}

}  // namespace
}  // namespace qklab::lab
