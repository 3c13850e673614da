#include "qklab/lab/data/token_blocks.hpp"

#include "draw_tokens.hpp"

namespace qklab::lab {

template <class Real>
const Real* TokenBlocks<Real>::read(long first, int count) {
  const std::size_t entries = static_cast<std::size_t>(data_->tokens) * data_->dimension;
  if (!data_->inputs.empty()) return data_->inputs.data() + static_cast<std::size_t>(first) * entries;
  drawn_.resize(count * entries);
  draw_tokens<Real>(data_->seed, Purpose::tokens, data_->first + first, count, drawn_);
  return drawn_.data();
}

template class TokenBlocks<float>;
template class TokenBlocks<double>;

}  // namespace qklab::lab
