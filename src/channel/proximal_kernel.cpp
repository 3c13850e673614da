#include <array>
#include <limits>

#include "proximal_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/channel/proximal_kernel.cpp"
// Arrays of vectors need a size known to the compiler; machines with SSSE3 but no SSE4 are history.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include "hwy/foreach_target.h"
// foreach_target.h comes first so that the rest of this file is compiled once for every target.
#include "hwy/aligned_allocator.h"
#include "linearisation-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

/// The error estimate of kHandOver after the search: larger means that the point did not converge.
constexpr double kTolerance = 1e-6;
constexpr int kMaxSteps = 60;

/// All that one vector of points needs; `row` points at its first lane.
template <int T>
struct Workspace {
  Workspace(LaneStore<D> store, const TokenCount<T>& tokens)
      : trial(store, tokens.pairs),
        point(store, tokens.pairs),
        step(store, tokens.pairs),
        image(store, tokens.pairs),
        agreement(store, tokens.value),
        at(store, tokens),
        factors(store, tokens) {}

  static int store_size(int tokens) {
    return 2 * tokens * (tokens + 1) + tokens + Linearisation<D, T>::store_size(tokens) +
           Factors<D, T>::store_size(tokens);
  }

  LaneArray<D, TokenCount<T>(T).pairs> trial;  ///< g
  LaneArray<D, TokenCount<T>(T).pairs> point;  ///< e = w + V g
  LaneArray<D, TokenCount<T>(T).pairs> step;   ///< Newton step of g, or a column of (I + V Hess)^{-1}
  LaneArray<D, TokenCount<T>(T).pairs> image;  ///< V Hess times that column
  LaneArray<D, T> agreement;                   ///< p . sigma(z) of every row
  Linearisation<D, T> at;
  Factors<D, T> factors;
  V slope;  ///< derivative of the objective along step
  V move;   ///< length of the step of e in units of 1/beta
  V error;  ///< estimated error of g relative to beta after the step, before squaring
};

template <int T>
hwy::AlignedFreeUniquePtr<double[]> workspace_memory(int tokens) {
  if (T > 0) return nullptr;
  return hwy::AllocateAligned<double>(static_cast<size_t>(Workspace<T>::store_size(tokens)) * hn::Lanes(D()));
}

/// Expands the loss at g = work.trial and finds the Newton step from there.
template <int T>
HWY_INLINE void newton_step(const TokenCount<T>& tokens, const Scales& scales, const NewtonRows& rows,
                            int first, Workspace<T>& work) {
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
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    length = hn::MulAdd(work.step[k], work.step[k], length);
    slope = hn::MulAdd(hn::Add(work.at.gradient[k], work.trial[k]), work.step[k], slope);
  }
  work.slope = hn::Mul(susceptibility, slope);
  // Newton's error after the step is (step in units of 1/beta)^2 times the stiffness V beta^2, over the
  // pivot.
  const double stiffness = 1 + scales.susceptibility * scales.beta * scales.beta;
  work.move = hn::Mul(hn::Set(d, scales.beta * scales.susceptibility), hn::Sqrt(length));
  const V pivot = work.factors.smallest;
  work.error =
      hn::IfThenElse(hn::Gt(pivot, hn::Zero(d)), hn::Div(hn::Mul(hn::Set(d, stiffness), work.move), pivot),
                     hn::Set(d, std::numeric_limits<double>::infinity()));
}

/// One damped Newton step of the points that start at `first`; true when all of them are done.
template <int T>
HWY_INLINE bool advance(const TokenCount<T>& tokens, const Scales& scales, const NewtonRows& rows, int first,
                        Workspace<T>& work) {
  const D d;
  V size = hn::Zero(d);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const size_t at = static_cast<size_t>(k) * rows.stride + first;
    work.trial.set(k, hn::Add(hn::Load(d, rows.residual + at), hn::Load(d, rows.step + at)));
    size = hn::MulAdd(work.trial[k], work.trial[k], size);
  }
  newton_step(tokens, scales, rows, first, work);

  const V objective = hn::MulAdd(hn::Set(d, 0.5 * scales.susceptibility), size, work.at.loss);
  const V before = hn::Load(d, rows.objective + first);
  const V promised = hn::Load(d, rows.slope + first);
  const V rounding = hn::Set(d, 4e-16 * tokens.value);
  const V bound =
      hn::Add(hn::MulAdd(hn::Set(d, 1e-4), promised, before), hn::MulAdd(rounding, objective, rounding));
  const auto finished = hn::Le(hn::Load(d, rows.error + first), hn::Set(d, kHandOver));
  const auto accepted = hn::AndNot(finished, hn::Le(objective, bound));
  const auto done = hn::And(accepted, hn::Le(work.error, hn::Set(d, kHandOver)));

  // A step longer than 3/beta leaves the region that the expansion describes.
  const V limit = hn::Set(d, 3.0);
  const V stretch = hn::Div(limit, hn::Max(limit, work.move));
  // A rejected step is cut to the minimum of the parabola through what is known of the objective along it.
  const V excess = hn::Sub(hn::Sub(objective, before), promised);
  const V cut =
      hn::Clamp(hn::Div(hn::Mul(hn::Set(d, -0.5), promised), excess), hn::Set(d, 0.1), hn::Set(d, 0.5));
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const size_t at = static_cast<size_t>(k) * rows.stride + first;
    const V old_residual = hn::Load(d, rows.residual + at);
    const V old_step = hn::Load(d, rows.step + at);
    const V next = hn::Add(work.trial[k], hn::IfThenElseZero(done, work.step[k]));
    const V next_step = hn::IfThenElse(accepted, hn::Mul(stretch, work.step[k]), hn::Mul(cut, old_step));
    hn::Store(hn::IfThenElse(accepted, next, old_residual), d, rows.residual + at);
    hn::Store(hn::IfThenElse(finished, old_step, next_step), d, rows.step + at);
  }
  const V reached = hn::MulAdd(hn::IfThenElseZero(done, work.slope), hn::Set(d, 0.5), objective);
  const V next_slope = hn::IfThenElse(accepted, hn::Mul(stretch, work.slope), hn::Mul(cut, promised));
  hn::Store(hn::IfThenElse(accepted, reached, before), d, rows.objective + first);
  hn::Store(hn::IfThenElse(finished, promised, next_slope), d, rows.slope + first);
  hn::Store(hn::IfThenElse(done, work.error, hn::Load(d, rows.error + first)), d, rows.error + first);
  return hn::AllTrue(d, hn::Or(finished, done));
}

inline void forget_history(const NewtonRows& rows, int pairs) {
  const D d;
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  for (int i = 0; i < rows.count; i += static_cast<int>(hn::Lanes(d))) {
    for (int k = 0; k < pairs; ++k)
      hn::Store(hn::Zero(d), d, rows.step + static_cast<size_t>(k) * rows.stride + i);
    hn::Store(hn::Zero(d), d, rows.slope + i);
    hn::Store(infinity, d, rows.objective + i);
    hn::Store(infinity, d, rows.error + i);
  }
}

/// Sweeps over the vectors that are not done, one step each, so that neighbouring vectors overlap in the
/// pipeline.
template <int T>
void minimise_points(const Channel& channel, double susceptibility, const NewtonRows& rows) {
  const TokenCount<T> tokens(channel.tokens);
  const Scales scales(susceptibility, channel.beta);
  const auto memory = workspace_memory<T>(channel.tokens);
  forget_history(rows, tokens.pairs);
  std::array<int, kMaxBatch> open;
  int open_count = 0;
  for (int i = 0; i < rows.count; i += static_cast<int>(hn::Lanes(D()))) open[open_count++] = i;
  for (int step = 0; step < kMaxSteps && open_count > 0; ++step) {
    int kept = 0;
    for (int j = 0; j < open_count; ++j) {
      Workspace<T> work(LaneStore<D>(memory.get()), tokens);
      if (!advance(tokens, scales, rows, open[j], work)) open[kept++] = open[j];
    }
    open_count = kept;
  }
}

/// Sums over directions i of the derivatives of g, for one vector of points.
struct Traces {
  V preimage_divergence;
  V center_divergence;
  V jacobian_square;
};

/// p . sigma(z) for every row a.
template <int T>
HWY_INLINE void find_agreement(const TokenCount<T>& tokens, const Scales& scales, const double* attention,
                               int stride, Workspace<T>& work) {
  const D d;
  QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
    V sum = hn::Zero(d);
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      const int entry = a * tokens.value + b;
      const V p = hn::Mul(work.at.u[entry], hn::Set(d, 1 / scales.root(a, b)));
      sum = hn::MulAdd(p, hn::Load(d, attention + static_cast<size_t>(entry) * stride), sum);
    }
    work.agreement.set(a, sum);
  }
}

/// Adds what row a of the attention contributes to image = V Hess x and, if score i belongs to the row, to
/// div_z g.
template <int T>
HWY_INLINE void add_row(const TokenCount<T>& tokens, const Scales& scales, const double* attention,
                        int stride, int i, int a, Workspace<T>& work, Traces& traces) {
  const D d;
  V along_u = hn::Zero(d);
  V along_m = hn::Zero(d);
  V along_label = hn::Zero(d);
  QKLAB_UNROLL for (int c = 0; c < tokens.value; ++c) {
    const int entry = a * tokens.value + c;
    const V x = work.step[pair_index(tokens, a, c)];
    const V weighted = hn::Mul(work.at.u[entry], x);
    along_u = hn::Add(along_u, weighted);
    along_m = hn::MulAdd(work.at.m[entry], x, along_m);
    along_label =
        hn::MulAdd(weighted, hn::Load(d, attention + static_cast<size_t>(entry) * stride), along_label);
  }
  QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
    const int entry = a * tokens.value + b;
    const int k = pair_index(tokens, a, b);
    V value = hn::MulAdd(work.at.own[entry], work.step[k], work.image[k]);
    value = hn::NegMulAdd(work.at.u[entry], along_m, value);
    work.image.set(k, hn::NegMulAdd(work.at.m[entry], along_u, value));
    if (k != i) continue;
    const V label = hn::Load(d, attention + static_cast<size_t>(entry) * stride);
    const V p = hn::Mul(work.at.u[entry], hn::Set(d, 1 / scales.root(a, b)));
    const V bent = hn::MulAdd(hn::Sub(p, work.agreement[a]), along_u, along_label);
    const V term = hn::Mul(label, hn::MulSub(work.at.u[entry], work.step[k], bent));
    const V size = hn::Set(d, 2 * scales.logit(a, b) / scales.weight);
    traces.preimage_divergence = hn::MulAdd(size, term, traces.preimage_divergence);
  }
}

/// Adds direction i: with x = column i of M = (I + V Hess)^{-1}, dg/dw = -Hess M and dg/dz = 2 M J(e*)^T
/// J(z). For row a, logits weighted by their slopes: (J(e)^T J(z))_cd = delta_cd p_c s_c - p_c s_d (s_c + p_d
/// - p.s), s = sigma(z).
template <int T>
HWY_INLINE void add_direction(const TokenCount<T>& tokens, const Scales& scales, const double* attention,
                              int stride, int i, Workspace<T>& work, Traces& traces) {
  const D d;
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    work.step.set(k, hn::Set(d, k == i ? 1.0 : 0.0));
    work.image.set(k, hn::Zero(d));
  }
  work.factors.solve(tokens, work.step);
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
                               int first, Workspace<T>& work) {
  const D d;
  const NewtonRows& newton = rows.newton;
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    work.trial.set(k, hn::Load(d, newton.residual + static_cast<size_t>(k) * newton.stride + first));
  }
  newton_step(tokens, scales, newton, first, work);
  const auto searched = hn::Le(hn::Load(d, newton.error + first), hn::Set(d, kHandOver));
  const auto converged = hn::And(searched, hn::Le(work.error, hn::Set(d, kTolerance)));
  hn::Store(hn::IfThenElseZero(converged, hn::Set(d, 1.0)), d, rows.converged + first);

  V correction = hn::Zero(d);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const size_t at = static_cast<size_t>(k) * newton.stride + first;
    const V step = hn::IfThenElseZero(converged, work.step[k]);
    correction = hn::MulAdd(work.at.gradient[k], step, correction);
    hn::Store(hn::Add(work.trial[k], step), d, newton.residual + at);
    const V move = hn::Mul(hn::Set(d, scales.susceptibility), step);
    hn::Store(hn::Add(work.point[k], move), d, rows.minimiser + at);
  }
  hn::Store(hn::MulAdd(hn::Set(d, scales.susceptibility), correction, work.at.loss), d, rows.loss + first);

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
  const Scales scales(susceptibility, channel.beta);
  const auto memory = workspace_memory<T>(channel.tokens);
  for (int i = 0; i < rows.newton.count; i += static_cast<int>(hn::Lanes(D()))) {
    Workspace<T> work(LaneStore<D>(memory.get()), tokens);
    respond_vector(tokens, scales, rows, i, work);
  }
}

void minimise_batch(const Channel& channel, double susceptibility, const NewtonRows& rows) {
  switch (channel.tokens) {
    case 2:
      return minimise_points<2>(channel, susceptibility, rows);
    case 3:
      return minimise_points<3>(channel, susceptibility, rows);
    case 4:
      return minimise_points<4>(channel, susceptibility, rows);
    default:
      return minimise_points<0>(channel, susceptibility, rows);
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

HWY_EXPORT(minimise_batch);
HWY_EXPORT(respond_batch);

void minimise(const Channel& channel, double susceptibility, const NewtonRows& rows) {
  HWY_DYNAMIC_DISPATCH(minimise_batch)(channel, susceptibility, rows);
}

void respond(const Channel& channel, double susceptibility, const ResponseRows& rows) {
  HWY_DYNAMIC_DISPATCH(respond_batch)(channel, susceptibility, rows);
}

}  // namespace qklab
#endif
