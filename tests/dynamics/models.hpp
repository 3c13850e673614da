#pragma once

#include "qklab/channel/attention_indexed/attention_indexed.hpp"

namespace qklab::test {

inline AttentionIndexedModel make(Architecture architecture, double correlation = 0, bool centred = true,
                                  int tokens = 0) {
  AttentionIndexedOptions options;
  options.tokens = tokens;
  options.token_correlation = correlation;
  options.centred = centred;
  return attention_indexed_model(architecture, options);
}

}  // namespace qklab::test
