#include "qklab/channel/channel.hpp"

#include <cmath>
#include <string>

#include "qklab/core/error.hpp"

namespace qklab {

Channel checked(Channel channel) {
  const bool softmax = channel.activation == Activation::softmax;
  if (!softmax && channel.activation != Activation::identity) {
    throw InvalidParameter("activation", to_string(channel.activation),
                           "this channel supports softmax and identity");
  }
  if (channel.tokens < (softmax ? 2 : 1)) {
    throw InvalidParameter("tokens", std::to_string(channel.tokens),
                           softmax ? "softmax attention needs T >= 2" : "the number of tokens must be >= 1");
  }
  if (softmax && !(channel.beta > 0 && std::isfinite(channel.beta))) {
    throw InvalidParameter("beta", channel.beta, "the inverse temperature must be > 0 and finite");
  }
  return channel;
}

Channel channel_of(const Problem& problem) {
  return checked(Channel{problem.activation, problem.tokens, problem.beta});
}

}  // namespace qklab
