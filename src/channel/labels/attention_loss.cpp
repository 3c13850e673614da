#include "qklab/channel/labels/attention_loss.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "attention_rows.hpp"
#include "hardmax.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/channel/labels/attention_loss.cpp"
// Arrays of vectors need a size known to the compiler; machines with SSSE3 but no SSE4 are history.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include "hwy/foreach_target.h"
// foreach_target.h comes first so that the rest of this file is compiled once for every target.
#include "hwy/aligned_allocator.h"
#include "lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

template <ScoreLayout kLayout, int T>
HWY_INLINE constexpr int score_count(const TokenCount<T>& tokens) {
  return kLayout == ScoreLayout::full ? tokens.value * tokens.value : tokens.pairs;
}

template <ScoreLayout kLayout, int T>
HWY_INLINE constexpr int score_index(const TokenCount<T>& tokens, int a, int b) {
  return kLayout == ScoreLayout::full ? a * tokens.value + b : pair_index(tokens, a, b);
}

/// A_a of one row for the samples that start at `sample`.
template <ScoreLayout kLayout, class D, int T, int kSize>
HWY_INLINE void attention_row(D d, const TokenCount<T>& tokens, Activation activation, hn::TFromD<D> beta,
                              const hn::TFromD<D>* scores, int stride, int a, LaneArray<D, kSize>& row) {
  const bool softmax = activation == Activation::softmax;
  const auto scale = hn::Set(d, softmax ? beta : hn::TFromD<D>{1});
  QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
    const int k = score_index<kLayout>(tokens, a, b);
    row.set(b, hn::Mul(scale, hn::LoadU(d, scores + static_cast<size_t>(k) * stride)));
  }
  if (softmax) softmax_row(d, tokens, row);
}

template <ScoreLayout kLayout, int T, class Real>
void attention_samples(const Channel& channel, int count, const AttentionRows<Real>& rows) {
  using D = hn::ScalableTag<Real>;
  const D d;
  const TokenCount<T> tokens(channel.tokens);
  const auto memory = hwy::AllocateAligned<Real>(static_cast<size_t>(tokens.value) * hn::Lanes(d));
  for (int sample = 0; sample < count; sample += static_cast<int>(hn::Lanes(d))) {
    LaneStore<D> store(memory.get());
    LaneArray<D, T> row(store, tokens.value);
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      attention_row<kLayout>(d, tokens, channel.activation, static_cast<Real>(channel.beta),
                             rows.scores + sample, rows.stride, a, row);
      QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
        hn::StoreU(row[b], d,
                   rows.attention + static_cast<size_t>(a * tokens.value + b) * rows.stride + sample);
      }
    }
  }
}

/// (A C)_ab of one row; C = null is the identity.
template <class D, int T, int kSize>
HWY_INLINE hn::Vec<D> mixed(D d, const TokenCount<T>& tokens, const LaneArray<D, kSize>& row,
                            const hn::TFromD<D>* gram, int stride, int b) {
  if (gram == nullptr) return row[b];
  auto sum = hn::Zero(d);
  QKLAB_UNROLL for (int c = 0; c < tokens.value; ++c) {
    sum =
        hn::MulAdd(row[c], hn::LoadU(d, gram + static_cast<size_t>(pair_index(tokens, c, b)) * stride), sum);
  }
  return sum;
}

/// Turns `slope` = d loss/d A of one row into d loss/d (scores of that row).
template <class D, int T, int kSize>
HWY_INLINE void through_softmax(D d, const TokenCount<T>& tokens, hn::TFromD<D> beta,
                                const LaneArray<D, kSize>& row, LaneArray<D, kSize>& slope) {
  auto mean = hn::Zero(d);
  QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) mean = hn::MulAdd(row[b], slope[b], mean);
  QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
    slope.set(b, hn::Mul(hn::Mul(hn::Set(d, beta), row[b]), hn::Sub(slope[b], mean)));
  }
}

template <ScoreLayout kLayout, int T, class Real>
void loss_samples(const Channel& channel, int count, const LossRows<Real>& rows) {
  using D = hn::ScalableTag<Real>;
  const D d;
  const TokenCount<T> tokens(channel.tokens);
  const int scores = score_count<kLayout>(tokens);
  const auto memory =
      hwy::AllocateAligned<Real>(static_cast<size_t>(2 * tokens.value + scores) * hn::Lanes(d));
  const auto two = hn::Set(d, Real{2});
  for (int sample = 0; sample < count; sample += static_cast<int>(hn::Lanes(d))) {
    LaneStore<D> store(memory.get());
    LaneArray<D, T> row(store, tokens.value);
    LaneArray<D, T> slope(store, tokens.value);
    LaneArray<D, score_count<kLayout>(TokenCount<T>(T))> gradient(store, scores);
    QKLAB_UNROLL for (int k = 0; k < scores; ++k) gradient.set(k, hn::Zero(d));
    auto loss = hn::Zero(d);
    const Real* gram = rows.gram == nullptr ? nullptr : rows.gram + sample;
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      attention_row<kLayout>(d, tokens, channel.activation, static_cast<Real>(channel.beta),
                             rows.scores + sample, rows.stride, a, row);
      QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
        const auto image = mixed(d, tokens, row, gram, rows.stride, b);
        const auto target =
            hn::LoadU(d, rows.correlation + static_cast<size_t>(a * tokens.value + b) * rows.stride + sample);
        const auto misfit = hn::Sub(image, target);
        loss = hn::MulAdd(row[b], hn::Sub(misfit, target), loss);
        slope.set(b, hn::Mul(two, misfit));
      }
      if (channel.activation == Activation::softmax) {
        through_softmax(d, tokens, static_cast<Real>(channel.beta), row, slope);
      }
      QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
        const int k = score_index<kLayout>(tokens, a, b);
        gradient.set(k, hn::Add(gradient[k], slope[b]));
      }
    }
    QKLAB_UNROLL for (int k = 0; k < scores; ++k) {
      hn::StoreU(gradient[k], d, rows.gradient + static_cast<size_t>(k) * rows.stride + sample);
    }
    hn::StoreU(loss, d, rows.loss + sample);
  }
}

template <ScoreLayout kLayout, class Real>
void attention_rows(const Channel& channel, int count, const AttentionRows<Real>& rows) {
  switch (channel.tokens) {
    case 2:
      return attention_samples<kLayout, 2>(channel, count, rows);
    case 3:
      return attention_samples<kLayout, 3>(channel, count, rows);
    case 4:
      return attention_samples<kLayout, 4>(channel, count, rows);
    default:
      return attention_samples<kLayout, 0>(channel, count, rows);
  }
}

template <ScoreLayout kLayout, class Real>
void loss_rows(const Channel& channel, int count, const LossRows<Real>& rows) {
  switch (channel.tokens) {
    case 2:
      return loss_samples<kLayout, 2>(channel, count, rows);
    case 3:
      return loss_samples<kLayout, 3>(channel, count, rows);
    case 4:
      return loss_samples<kLayout, 4>(channel, count, rows);
    default:
      return loss_samples<kLayout, 0>(channel, count, rows);
  }
}

template <class Real>
void attention_of_layout(const Channel& channel, int count, const AttentionRows<Real>& rows) {
  if (rows.layout == ScoreLayout::full) return attention_rows<ScoreLayout::full>(channel, count, rows);
  return attention_rows<ScoreLayout::pairs>(channel, count, rows);
}

template <class Real>
void loss_of_layout(const Channel& channel, int count, const LossRows<Real>& rows) {
  if (rows.layout == ScoreLayout::full) return loss_rows<ScoreLayout::full>(channel, count, rows);
  return loss_rows<ScoreLayout::pairs>(channel, count, rows);
}

void attention_f32(const Channel& channel, int count, const AttentionRows<float>& rows) {
  attention_of_layout(channel, count, rows);
}
void attention_f64(const Channel& channel, int count, const AttentionRows<double>& rows) {
  attention_of_layout(channel, count, rows);
}
void loss_f32(const Channel& channel, int count, const LossRows<float>& rows) {
  loss_of_layout(channel, count, rows);
}
void loss_f64(const Channel& channel, int count, const LossRows<double>& rows) {
  loss_of_layout(channel, count, rows);
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab {

HWY_EXPORT(attention_f32);
HWY_EXPORT(attention_f64);
HWY_EXPORT(loss_f32);
HWY_EXPORT(loss_f64);

namespace {

/// Samples are handed to the kernels in multiples of this, which every vector length divides.
constexpr int kGroup = 16;
/// Samples of one summation block: their losses stay in the first-level cache.
constexpr int kBlock = 512;

void dispatch(const Channel& channel, int count, const AttentionRows<float>& rows) {
  HWY_DYNAMIC_DISPATCH(attention_f32)(channel, count, rows);
}
void dispatch(const Channel& channel, int count, const AttentionRows<double>& rows) {
  HWY_DYNAMIC_DISPATCH(attention_f64)(channel, count, rows);
}
void dispatch(const Channel& channel, int count, const LossRows<float>& rows) {
  HWY_DYNAMIC_DISPATCH(loss_f32)(channel, count, rows);
}
void dispatch(const Channel& channel, int count, const LossRows<double>& rows) {
  HWY_DYNAMIC_DISPATCH(loss_f64)(channel, count, rows);
}

/// The last, incomplete group of samples, padded with zeros to kGroup.
template <class Real>
class PaddedRows {
 public:
  explicit PaddedRows(int row_count) : values_(static_cast<std::size_t>(row_count) * kGroup) {}
  PaddedRows(int row_count, int stride, int count, const Real* source) : PaddedRows(row_count) {
    for (int row = 0; row < row_count; ++row) {
      std::copy_n(source + static_cast<std::size_t>(row) * stride, count, data() + row * kGroup);
    }
  }
  Real* data() { return values_.data(); }
  void copy_to(int row_count, int stride, int count, Real* target) {
    for (int row = 0; row < row_count; ++row) {
      std::copy_n(data() + row * kGroup, count, target + static_cast<std::size_t>(row) * stride);
    }
  }

 private:
  std::vector<Real> values_;
};

/// Sum in double over eight interleaved partial sums, the same order on every machine.
template <class Real>
double ordered_sum(int count, const Real* values) {
  std::array<double, 8> partial{};
  for (int i = 0; i < count; ++i) partial[i % 8] += static_cast<double>(values[i]);
  return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
         ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

template <class Real>
void padded_attention(const Channel& channel, int count, const AttentionRows<Real>& rows) {
  PaddedRows<Real> scores(channel.score_count(rows.layout), rows.stride, count, rows.scores);
  PaddedRows<Real> attention(channel.tokens * channel.tokens);
  dispatch(channel, kGroup, AttentionRows<Real>{kGroup, rows.layout, scores.data(), attention.data()});
  attention.copy_to(channel.tokens * channel.tokens, rows.stride, count, rows.attention);
}

template <class Real>
void padded_loss(const Channel& channel, int count, const LossRows<Real>& rows) {
  const int score_count = channel.score_count(rows.layout);
  PaddedRows<Real> scores(score_count, rows.stride, count, rows.scores);
  PaddedRows<Real> correlation(channel.tokens * channel.tokens, rows.stride, count, rows.correlation);
  PaddedRows<Real> gradient(score_count);
  PaddedRows<Real> gram = rows.gram == nullptr
                              ? PaddedRows<Real>(0)
                              : PaddedRows<Real>(channel.pair_count(), rows.stride, count, rows.gram);
  PaddedRows<Real> loss(1);
  dispatch(channel, kGroup,
           LossRows<Real>{kGroup, rows.layout, scores.data(), correlation.data(),
                          rows.gram == nullptr ? nullptr : gram.data(), gradient.data(), loss.data()});
  gradient.copy_to(score_count, rows.stride, count, rows.gradient);
  loss.copy_to(1, 0, count, rows.loss);
}

}  // namespace

template <class Real>
void attention(const Channel& channel, int count, const Real* scores, Real* attention, ScoreLayout layout) {
  checked(channel);
  if (channel.activation == Activation::hardmax) {
    return hardmax_attention(channel.tokens, count, AttentionRows<Real>{count, layout, scores, attention});
  }
  const int whole = count - count % kGroup;
  dispatch(channel, whole, AttentionRows<Real>{count, layout, scores, attention});
  if (whole == count) return;
  padded_attention(channel, count - whole,
                   AttentionRows<Real>{count, layout, scores + whole, attention + whole});
}

template <class Real>
double loss_and_gradient(const Channel& channel, int count, const Real* scores, const Real* correlation,
                         const Real* gram, Real* gradient, ScoreLayout layout) {
  checked_differentiable(channel);
  std::array<Real, kBlock> losses;
  double sum = 0;
  for (int first = 0; first < count; first += kBlock) {
    const int block = std::min(kBlock, count - first);
    const int whole = block - block % kGroup;
    const auto from = [&](int offset) {
      return LossRows<Real>{count,
                            layout,
                            scores + first + offset,
                            correlation + first + offset,
                            gram == nullptr ? nullptr : gram + first + offset,
                            gradient + first + offset,
                            losses.data() + offset};
    };
    dispatch(channel, whole, from(0));
    if (whole < block) padded_loss(channel, block - whole, from(whole));
    sum += ordered_sum(block, losses.data());
  }
  return sum;
}

template void attention<float>(const Channel&, int, const float*, float*, ScoreLayout);
template void attention<double>(const Channel&, int, const double*, double*, ScoreLayout);
template double loss_and_gradient<float>(const Channel&, int, const float*, const float*, const float*,
                                         float*, ScoreLayout);
template double loss_and_gradient<double>(const Channel&, int, const double*, const double*, const double*,
                                          double*, ScoreLayout);

}  // namespace qklab
#endif
