// Numbers of the attention-indexed kernels: Lane, one number of several samples, and Jet, a Lane with its
// derivatives along several directions. Included once for every target.
#if defined(QKLAB_CHANNEL_INDEXED_VALUES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QKLAB_CHANNEL_INDEXED_VALUES_INL_HPP
#undef QKLAB_CHANNEL_INDEXED_VALUES_INL_HPP
#else
#define QKLAB_CHANNEL_INDEXED_VALUES_INL_HPP
#endif

#include "channel/labels/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

template <class Real_>
struct Lane {
  using Real = Real_;
  using D = hn::ScalableTag<Real>;
  using Plain = Lane;
  hn::Vec<D> lanes;
};

template <class Real>
HWY_INLINE Lane<Real> operator+(Lane<Real> a, Lane<Real> b) {
  return {hn::Add(a.lanes, b.lanes)};
}
template <class Real>
HWY_INLINE Lane<Real> operator-(Lane<Real> a, Lane<Real> b) {
  return {hn::Sub(a.lanes, b.lanes)};
}
template <class Real>
HWY_INLINE Lane<Real> operator*(Lane<Real> a, Lane<Real> b) {
  return {hn::Mul(a.lanes, b.lanes)};
}
template <class Real>
HWY_INLINE Lane<Real> operator*(double a, Lane<Real> b) {
  return {hn::Mul(hn::Set(typename Lane<Real>::D(), static_cast<Real>(a)), b.lanes)};
}
template <class Real>
HWY_INLINE void set_constant(Lane<Real>& a, double value) {
  a.lanes = hn::Set(typename Lane<Real>::D(), static_cast<Real>(value));
}
template <class Real>
HWY_INLINE Lane<Real> plain_part(Lane<Real> a) {
  return a;
}
template <class Real>
HWY_INLINE Lane<Real> larger(Lane<Real> a, Lane<Real> b) {
  return {hn::Max(a.lanes, b.lanes)};
}
/// e^a for a <= 0.
template <class Real>
HWY_INLINE Lane<Real> decay(Lane<Real> a) {
  return {decay(typename Lane<Real>::D(), a.lanes)};
}
template <class Real>
HWY_INLINE Lane<Real> inverse(Lane<Real> a) {
  const typename Lane<Real>::D d;
  return {hn::Div(hn::Set(d, Real{1}), a.lanes)};
}

/// A number with its derivatives along kSlopes directions.
template <class Plain_, int kSlopes>
struct Jet {
  using Real = typename Plain_::Real;
  using D = typename Plain_::D;
  using Plain = Plain_;
  Plain value;
  Plain slope[kSlopes];
};

template <class P, int N>
HWY_INLINE Jet<P, N> operator+(const Jet<P, N>& a, const Jet<P, N>& b) {
  Jet<P, N> sum{a.value + b.value, {}};
  QKLAB_UNROLL for (int i = 0; i < N; ++i) sum.slope[i] = a.slope[i] + b.slope[i];
  return sum;
}
template <class P, int N>
HWY_INLINE Jet<P, N> operator-(const Jet<P, N>& a, const Jet<P, N>& b) {
  Jet<P, N> difference{a.value - b.value, {}};
  QKLAB_UNROLL for (int i = 0; i < N; ++i) difference.slope[i] = a.slope[i] - b.slope[i];
  return difference;
}
template <class P, int N>
HWY_INLINE Jet<P, N> operator-(const Jet<P, N>& a, P b) {
  Jet<P, N> difference = a;
  difference.value = a.value - b;
  return difference;
}
template <class P, int N>
HWY_INLINE Jet<P, N> operator*(const Jet<P, N>& a, const Jet<P, N>& b) {
  Jet<P, N> product{a.value * b.value, {}};
  QKLAB_UNROLL for (int i = 0; i < N; ++i) product.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
  return product;
}
template <class P, int N>
HWY_INLINE Jet<P, N> operator*(double a, const Jet<P, N>& b) {
  Jet<P, N> product{a * b.value, {}};
  QKLAB_UNROLL for (int i = 0; i < N; ++i) product.slope[i] = a * b.slope[i];
  return product;
}
template <class P, int N>
HWY_INLINE void set_constant(Jet<P, N>& a, double value) {
  set_constant(a.value, value);
  QKLAB_UNROLL for (int i = 0; i < N; ++i) set_constant(a.slope[i], 0);
}
template <class P, int N>
HWY_INLINE P plain_part(const Jet<P, N>& a) {
  return a.value;
}
template <class P, int N>
HWY_INLINE Jet<P, N> decay(const Jet<P, N>& a) {
  Jet<P, N> power{decay(a.value), {}};
  QKLAB_UNROLL for (int i = 0; i < N; ++i) power.slope[i] = power.value * a.slope[i];
  return power;
}
template <class P, int N>
HWY_INLINE Jet<P, N> inverse(const Jet<P, N>& a) {
  Jet<P, N> quotient{inverse(a.value), {}};
  const P factor = -1.0 * (quotient.value * quotient.value);
  QKLAB_UNROLL for (int i = 0; i < N; ++i) quotient.slope[i] = factor * a.slope[i];
  return quotient;
}

template <class V>
HWY_INLINE V constant(double value) {
  V result;
  set_constant(result, value);
  return result;
}

/// Hands out consecutive pieces of a work space.
template <class V>
class Arena {
 public:
  explicit Arena(V* memory) : next_(memory) {}
  V* take(int size) {
    V* piece = next_;
    next_ += size;
    return piece;
  }

 private:
  V* next_;
};

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
