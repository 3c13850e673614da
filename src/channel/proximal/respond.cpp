#include "proximal_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/channel/proximal/respond.cpp"
// Arrays of vectors need a size known to the compiler; machines with SSSE3 but no SSE4 are history.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include "hwy/foreach_target.h"
// foreach_target.h comes first so that the rest of this file is compiled once for every target.
#include "hwy/aligned_allocator.h"
#include "newton-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

/// The step that the last correction may take, in units of 1/beta: a larger one means that the point did not
/// converge.
constexpr double kTolerance = 1e-6;

/// The expansion at the minimiser, and one direction of its response.
template <int T>
struct ResponsePoint {
  ResponsePoint(LaneStore<D>& store, const TokenCount<T>& tokens)
      : newton(store, tokens),
        column(store, tokens.pairs),
        image(store, tokens.pairs),
        agreement(store, tokens.value) {}

  static int store_size(int tokens) {
    return NewtonPoint<T>::store_size(tokens) + tokens * (tokens + 1) + tokens;
  }

  NewtonPoint<T> newton;
  LaneArray<D, TokenCount<T>(T).pairs> column;  ///< of (I + V Hess)^{-1}
  LaneArray<D, TokenCount<T>(T).pairs> image;   ///< V Hess times that column
  LaneArray<D, T> agreement;                    ///< p . sigma(z) of every row
};

/// Sums over directions i of the derivatives of g, for one vector of points.
struct Traces {
  V preimage_divergence;
  V center_divergence;
  V jacobian_square;
};

/// p . sigma(z) for every row a.
template <int T>
HWY_INLINE void find_agreement(const TokenCount<T>& tokens, const Scales& scales, const double* attention,
                               int stride, ResponsePoint<T>& work) {
  const D d;
  QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
    V sum = hn::Zero(d);
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      const int entry = a * tokens.value + b;
      const V p = hn::Mul(work.newton.at.u[entry], hn::Set(d, 1 / scales.root(a, b)));
      sum = hn::MulAdd(p, hn::Load(d, attention + static_cast<size_t>(entry) * stride), sum);
    }
    work.agreement.set(a, sum);
  }
}

/// Adds what row a of the attention contributes to image = V Hess x and, if score i belongs to the row, to
/// div_z g.
template <int T>
HWY_INLINE void add_row(const TokenCount<T>& tokens, const Scales& scales, const double* attention,
                        int stride, int i, int a, ResponsePoint<T>& work, Traces& traces) {
  const D d;
  V along_u = hn::Zero(d);
  V along_m = hn::Zero(d);
  V along_label = hn::Zero(d);
  QKLAB_UNROLL for (int c = 0; c < tokens.value; ++c) {
    const int entry = a * tokens.value + c;
    const V x = work.column[pair_index(tokens, a, c)];
    const V weighted = hn::Mul(work.newton.at.u[entry], x);
    along_u = hn::Add(along_u, weighted);
    along_m = hn::MulAdd(work.newton.at.m[entry], x, along_m);
    along_label =
        hn::MulAdd(weighted, hn::Load(d, attention + static_cast<size_t>(entry) * stride), along_label);
  }
  QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
    const int entry = a * tokens.value + b;
    const int k = pair_index(tokens, a, b);
    V value = hn::MulAdd(work.newton.at.own[entry], work.column[k], work.image[k]);
    value = hn::NegMulAdd(work.newton.at.u[entry], along_m, value);
    work.image.set(k, hn::NegMulAdd(work.newton.at.m[entry], along_u, value));
    if (k != i) continue;
    const V label = hn::Load(d, attention + static_cast<size_t>(entry) * stride);
    const V p = hn::Mul(work.newton.at.u[entry], hn::Set(d, 1 / scales.root(a, b)));
    const V bent = hn::MulAdd(hn::Sub(p, work.agreement[a]), along_u, along_label);
    const V term = hn::Mul(label, hn::MulSub(work.newton.at.u[entry], work.column[k], bent));
    const V size = hn::Set(d, 2 * scales.logit(a, b) / scales.weight);
    traces.preimage_divergence = hn::MulAdd(size, term, traces.preimage_divergence);
  }
}

/// Adds direction i: with x = column i of M = (I + V Hess)^{-1}, dg/dw = -Hess M and dg/dz = 2 M J(e*)^T
/// J(z). For row a, logits weighted by their slopes: (J(e)^T J(z))_cd = delta_cd p_c s_c - p_c s_d (s_c + p_d
/// - p.s), s = sigma(z).
template <int T>
HWY_INLINE void add_direction(const TokenCount<T>& tokens, const Scales& scales, const double* attention,
                              int stride, int i, ResponsePoint<T>& work, Traces& traces) {
  const D d;
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    work.column.set(k, hn::Set(d, k == i ? 1.0 : 0.0));
    work.image.set(k, hn::Zero(d));
  }
  work.newton.factors.solve(tokens, work.column);
  QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
    add_row(tokens, scales, attention, stride, i, a, work, traces);
  }
  const V inverse = hn::Set(d, 1 / scales.susceptibility);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const V entry = hn::Mul(inverse, work.image[k]);
    traces.jacobian_square = hn::MulAdd(entry, entry, traces.jacobian_square);
    if (k == i) traces.center_divergence = hn::Sub(traces.center_divergence, entry);
  }
}

template <int T>
HWY_INLINE void respond_vector(const TokenCount<T>& tokens, const Scales& scales, const ResponseRows& rows,
                               int first, ResponsePoint<T>& work) {
  const D d;
  const NewtonRows& newton = rows.newton;
  NewtonPoint<T>& point = work.newton;
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    point.trial.set(k, hn::Load(d, newton.residual + static_cast<size_t>(k) * newton.stride + first));
  }
  newton_step(tokens, scales, newton, first, point);
  const auto searched = hn::Gt(hn::Load(d, newton.done + first), hn::Zero(d));
  const auto small =
      hn::Or(hn::Le(point.move, hn::Set(d, kTolerance)), hn::Le(point.imbalance, hn::Set(d, kRounding)));
  const auto convex = hn::Gt(point.factors.smallest, hn::Zero(d));
  const auto converged = hn::And(searched, hn::And(convex, small));
  hn::Store(hn::IfThenElseZero(converged, hn::Set(d, 1.0)), d, rows.converged + first);

  V correction = hn::Zero(d);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const size_t at = static_cast<size_t>(k) * newton.stride + first;
    const V step = hn::IfThenElseZero(converged, point.step[k]);
    correction = hn::MulAdd(point.at.gradient[k], step, correction);
    hn::Store(hn::Add(point.trial[k], step), d, newton.residual + at);
    const V move = hn::Mul(hn::Set(d, scales.susceptibility), step);
    hn::Store(hn::Add(point.point[k], move), d, rows.minimiser + at);
  }
  hn::Store(hn::MulAdd(hn::Set(d, scales.susceptibility), correction, point.at.loss), d, rows.loss + first);

  Traces traces{hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  find_agreement(tokens, scales, rows.attention + first, newton.stride, work);
  for (int i = 0; i < tokens.pairs; ++i) {
    add_direction(tokens, scales, rows.attention + first, newton.stride, i, work, traces);
  }
  hn::Store(traces.preimage_divergence, d, rows.preimage_divergence + first);
  hn::Store(traces.center_divergence, d, rows.center_divergence + first);
  hn::Store(traces.jacobian_square, d, rows.jacobian_square + first);
}

template <int T>
void respond_points(const Channel& channel, double susceptibility, const ResponseRows& rows) {
  const TokenCount<T> tokens(channel.tokens);
  const Scales scales(channel, susceptibility);
  const auto memory =
      hwy::AllocateAligned<double>(ResponsePoint<T>::store_size(channel.tokens) * hn::Lanes(D()));
  for (int i = 0; i < rows.newton.count; i += static_cast<int>(hn::Lanes(D()))) {
    LaneStore<D> store(memory.get());
    ResponsePoint<T> work(store, tokens);
    respond_vector(tokens, scales, rows, i, work);
  }
}

void respond_batch(const Channel& channel, double susceptibility, const ResponseRows& rows) {
  switch (channel.tokens) {
    case 2:
      return respond_points<2>(channel, susceptibility, rows);
    case 3:
      return respond_points<3>(channel, susceptibility, rows);
    case 4:
      return respond_points<4>(channel, susceptibility, rows);
    default:
      return respond_points<0>(channel, susceptibility, rows);
  }
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab {

HWY_EXPORT(respond_batch);

void respond(const Channel& channel, double susceptibility, const ResponseRows& rows) {
  HWY_DYNAMIC_DISPATCH(respond_batch)(channel, susceptibility, rows);
}

}  // namespace qklab
#endif
