#include "bayes_channel.hpp"

#include <variant>

#include "qklab/channel/bayes/bayes_residual.hpp"
#include "qklab/core/error.hpp"

namespace qklab::theory {

void BayesChannel::set(const Problem& problem) {
  const Channel channel = bayes_channel_of(problem);
  if (channel.activation != channel_.activation || channel.tokens != channel_.tokens ||
      channel.beta != channel_.beta) {
    hardmax_.reset();
    differentiable_.reset();
  }
  problem_ = problem;
  channel_ = channel;
  kappa0_ = std::get<WishartTeacher>(problem.teacher).kappa0;
  noise_ = problem.noise_in + problem.noise_out / 2;
  if (is_linear()) {
    if (!differentiable_) differentiable_ = std::make_unique<OutputExpectation>(channel, 0, 0, qmc_);
  } else if (!hardmax_) {
    hardmax_ = std::make_unique<HardmaxExpectation>(channel.tokens, qmc_);
  }
}

std::vector<double> BayesChannel::overlap_hat(double error) {
  const double variance = error + noise_;
  if (is_linear()) return {visible_samples() / variance};
  std::vector<double> hats = hardmax_->information((1 + kappa0_ - error) / variance);
  for (double& value : hats) value *= 2 * problem_.alpha / variance;
  return hats;
}

std::vector<double> BayesChannel::test_error(double error) {
  const double self_overlap = 1 + kappa0_;
  if (!is_linear()) return hardmax_->test_error(self_overlap, error);
  // q - q^2/Q0 without cancellation, at m = q
  const double overlap = self_overlap - error;
  std::vector<double> errors = differentiable_->test_error(
      ScoreOverlaps::from_orthogonal(self_overlap, overlap, overlap * error / self_overlap));
  if (channel_.activation == Activation::identity) errors.resize(1);
  return errors;
}

Channel bayes_channel_of(const Problem& problem) {
  checked(problem);
  const Channel channel = channel_of(problem);
  if (!std::holds_alternative<WishartTeacher>(problem.teacher)) {
    throw InvalidParameter(
        "teacher", std::holds_alternative<PowerLawTeacher>(problem.teacher) ? "power-law" : "spectrum",
        "the Bayes-optimal reference is known for a wishart teacher");
  }
  BayesResidual(channel, problem.noise_in, problem.noise_out);  // refuses labels it does not know
  return channel;
}

}  // namespace qklab::theory
