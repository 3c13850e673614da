// One Newton step of the proximal problems of one vector of points. Included once for every target.
#if defined(QKLAB_CHANNEL_NEWTON_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QKLAB_CHANNEL_NEWTON_INL_HPP
#undef QKLAB_CHANNEL_NEWTON_INL_HPP
#else
#define QKLAB_CHANNEL_NEWTON_INL_HPP
#endif

#include "linearisation-inl.hpp"
#include "proximal_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

/// |g + gradient| relative to beta that rounding alone leaves.
constexpr double kRounding = 4e-15;

/// The objective of one vector of points at g = trial, and the Newton step from there.
template <int T>
struct NewtonPoint {
  NewtonPoint(LaneStore<D>& store, const TokenCount<T>& tokens)
      : trial(store, tokens.pairs),
        point(store, tokens.pairs),
        step(store, tokens.pairs),
        at(store, tokens),
        factors(store, tokens) {}

  static int store_size(int tokens) {
    return 3 * tokens * (tokens + 1) / 2 + Linearisation<D, T>::store_size(tokens) +
           Factors<D, T>::store_size(tokens);
  }

  LaneArray<D, TokenCount<T>(T).pairs> trial;  ///< g
  LaneArray<D, TokenCount<T>(T).pairs> point;  ///< e = w + V g
  LaneArray<D, TokenCount<T>(T).pairs> step;   ///< Newton step of g
  Linearisation<D, T> at;
  Factors<D, T> factors;
  V slope;       ///< derivative of the objective along step
  V move;        ///< length of the step of e in units of 1/beta
  V stiff_move;  ///< move, enlarged to bound the error of g relative to beta that the step leaves, before
                 ///< squaring
  V imbalance;   ///< length of g + gradient relative to beta
};

/// Expands the loss at g = work.trial and finds the Newton step from there.
template <int T>
HWY_INLINE void newton_step(const TokenCount<T>& tokens, const Scales& scales, const NewtonRows& rows,
                            int first, NewtonPoint<T>& work) {
  const D d;
  const V susceptibility = hn::Set(d, scales.susceptibility);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const V center = hn::Load(d, rows.center + static_cast<size_t>(k) * rows.stride + first);
    work.point.set(k, hn::MulAdd(susceptibility, work.trial[k], center));
  }
  work.at.expand(d, tokens, scales, work.point, rows.label + first, rows.stride);
  work.factors.factor(d, tokens, work.at);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    work.step.set(k, hn::Neg(hn::Add(work.at.gradient[k], work.trial[k])));
  }
  work.factors.solve(tokens, work.step);
  V length = hn::Zero(d);
  V slope = hn::Zero(d);
  V imbalance = hn::Zero(d);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const V rest = hn::Add(work.at.gradient[k], work.trial[k]);
    length = hn::MulAdd(work.step[k], work.step[k], length);
    slope = hn::MulAdd(rest, work.step[k], slope);
    imbalance = hn::MulAdd(rest, rest, imbalance);
  }
  work.slope = hn::Mul(susceptibility, slope);
  work.imbalance = hn::Mul(hn::Set(d, 1 / scales.beta), hn::Sqrt(imbalance));
  work.move = hn::Mul(hn::Set(d, scales.beta * scales.susceptibility), hn::Sqrt(length));
  const double stiffness = 1 + scales.susceptibility * scales.beta * scales.beta;
  work.stiff_move = hn::Div(hn::Mul(hn::Set(d, stiffness), work.move), work.factors.smallest);
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
