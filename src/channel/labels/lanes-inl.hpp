// Building blocks of the channel's vector kernels: one lane is one sample. Included once for every target.
#if defined(QKLAB_CHANNEL_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QKLAB_CHANNEL_LANES_INL_HPP
#undef QKLAB_CHANNEL_LANES_INL_HPP
#else
#define QKLAB_CHANNEL_LANES_INL_HPP
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

// GCC leaves loops with large bodies rolled unless told; then arrays of vectors live in memory.
#if defined(__GNUC__) && !defined(__clang__)
#define QKLAB_UNROLL _Pragma("GCC unroll 16")
#else
#define QKLAB_UNROLL
#endif

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The number of tokens: T when T > 0, so that every loop over tokens unrolls, known at run time when T = 0.
template <int T>
struct TokenCount {
  explicit constexpr TokenCount(int /*tokens*/) {}
  static constexpr int value = T;
  static constexpr int pairs = T * (T + 1) / 2;
  static constexpr int links = T * (T - 1) / 2;
};

template <>
struct TokenCount<0> {
  explicit constexpr TokenCount(int tokens)
      : value(tokens), pairs(tokens * (tokens + 1) / 2), links(tokens * (tokens - 1) / 2) {}
  int value;
  int pairs;
  int links;  ///< pairs a < b
};

/// Position of the pair {a, b} in packed scores (a <= b row by row).
template <int T>
HWY_INLINE constexpr int pair_index(const TokenCount<T>& tokens, int a, int b) {
  return a <= b ? a * tokens.value - a * (a - 1) / 2 + b - a : b * tokens.value - b * (b - 1) / 2 + a - b;
}

/// Position of the pair {a, b}, a != b, among the pairs of distinct tokens.
template <int T>
HWY_INLINE constexpr int link_index(const TokenCount<T>& tokens, int a, int b) {
  return a < b ? a * (tokens.value - 1) - a * (a - 1) / 2 + b - a - 1
               : b * (tokens.value - 1) - b * (b - 1) / 2 + a - b - 1;
}

/// Hands out consecutive pieces of a work space to run-time sized Lanes.
template <class D>
class LaneStore {
 public:
  explicit LaneStore(hn::TFromD<D>* memory) : next_(memory) {}
  hn::TFromD<D>* take(int size) {
    hn::TFromD<D>* piece = next_;
    next_ += static_cast<size_t>(size) * hn::Lanes(D());
    return piece;
  }

 private:
  hn::TFromD<D>* next_;
};

/// An array of vectors: in registers when its size is fixed, in a LaneStore when kSize = 0.
template <class D, int kSize>
class LaneArray {
 public:
  LaneArray(LaneStore<D>& /*store*/, int /*size*/) {}
  HWY_INLINE hn::Vec<D> operator[](int i) const { return values_[i]; }
  HWY_INLINE void set(int i, hn::Vec<D> value) { values_[i] = value; }

 private:
  hn::Vec<D> values_[kSize];
};

template <class D>
class LaneArray<D, 0> {
 public:
  LaneArray(LaneStore<D>& store, int size) : memory_(store.take(size)) {}
  HWY_INLINE hn::Vec<D> operator[](int i) const { return hn::Load(D(), memory_ + i * hn::Lanes(D())); }
  HWY_INLINE void set(int i, hn::Vec<D> value) { hn::Store(value, D(), memory_ + i * hn::Lanes(D())); }

 private:
  hn::TFromD<D>* memory_;
};

/// e^x for x <= 0 (1 ULP); unlike hn::Exp it hands NaN on.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V decay(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

/// Replaces one row of logits by its softmax. Relative error <= (T + 4) units in the last place.
template <class D, int T, int kSize>
HWY_INLINE void softmax_row(D d, const TokenCount<T>& tokens, LaneArray<D, kSize>& row) {
  const auto one = hn::Set(d, hn::TFromD<D>{1});
  if constexpr (T == 2) {
    const auto gap = hn::Sub(row[0], row[1]);
    const auto small = decay(d, hn::Neg(hn::Abs(gap)));
    const auto larger = hn::Div(one, hn::Add(one, small));
    const auto smaller = hn::Mul(small, larger);
    const auto first = hn::Ge(gap, hn::Zero(d));
    row.set(0, hn::IfThenElse(first, larger, smaller));
    row.set(1, hn::IfThenElse(first, smaller, larger));
  } else {
    auto top = row[0];
    QKLAB_UNROLL for (int b = 1; b < tokens.value; ++b) top = hn::Max(top, row[b]);
    auto sum = hn::Zero(d);
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      row.set(b, decay(d, hn::Sub(row[b], top)));
      sum = hn::Add(sum, row[b]);
    }
    const auto scale = hn::Div(one, sum);
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) row.set(b, hn::Mul(row[b], scale));
  }
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
