#include "qklab/channel/labels/channel.hpp"

#include <cmath>
#include <string>

#include "qklab/core/error.hpp"

namespace qklab {

Channel checked(Channel channel) {
  const bool softmax = channel.activation == Activation::softmax;
  const bool identity = channel.activation == Activation::identity;
  if (!softmax && !identity && channel.activation != Activation::hardmax) {
    throw InvalidParameter("activation", to_string(channel.activation),
                           "this channel supports softmax, identity and hardmax");
  }
  if (channel.tokens < (identity ? 1 : 2)) {
    throw InvalidParameter(
        "tokens", std::to_string(channel.tokens),
        identity ? "the number of tokens must be >= 1" : "attention by softmax or hardmax needs T >= 2");
  }
  if (softmax && !(channel.beta > 0 && std::isfinite(channel.beta))) {
    throw InvalidParameter("beta", channel.beta, "the inverse temperature must be > 0 and finite");
  }
  return channel;
}

Channel checked_differentiable(Channel channel) {
  if (channel.activation == Activation::hardmax) {
    throw InvalidParameter("activation", to_string(channel.activation),
                           "a step of the labels has no gradient to learn from: only the Bayes-optimal "
                           "estimator treats hardmax");
  }
  return checked(channel);
}

Channel channel_of(const Problem& problem) {
  return checked(Channel{problem.activation, problem.tokens, problem.beta});
}

}  // namespace qklab
