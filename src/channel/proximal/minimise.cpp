#include <array>
#include <limits>

#include "proximal_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/channel/proximal/minimise.cpp"
// Arrays of vectors need a size known to the compiler; machines with SSSE3 but no SSE4 are history.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include "hwy/foreach_target.h"
// foreach_target.h comes first so that the rest of this file is compiled once for every target.
#include "hwy/aligned_allocator.h"
#include "newton-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

constexpr int kMaxSteps = 60;

/// True where the step found is the last one needed, because the correction after it squares what it leaves:
/// by the bound on Newton's error, or by the observed contraction from the last step to this one, or because
/// the gradient is down to rounding.
template <int T>
HWY_INLINE hn::Mask<D> close_enough(const NewtonPoint<T>& work, V last_move) {
  const D d;
  const auto bounded = hn::Le(work.stiff_move, hn::Set(d, 1e-4));
  const auto contracting = hn::Le(hn::Mul(work.move, work.move), hn::Mul(hn::Set(d, 1e-8), last_move));
  const auto exhausted = hn::Le(work.imbalance, hn::Set(d, kRounding));
  const auto convex = hn::Gt(work.factors.smallest, hn::Zero(d));
  return hn::And(convex, hn::Or(bounded, hn::Or(contracting, exhausted)));
}

/// What becomes of the trial points of one vector.
struct Verdict {
  hn::Mask<D> finished;  ///< reached their minimum before
  hn::Mask<D> accepted;  ///< low enough to go on from
  hn::Mask<D> done;      ///< accepted, and one step away from their minimum
};

/// Takes residual + step as trial; returns the length of that step of e in units of 1/beta.
template <int T>
HWY_INLINE V load_trial(const TokenCount<T>& tokens, const Scales& scales, const NewtonRows& rows, int first,
                        NewtonPoint<T>& work) {
  const D d;
  V taken = hn::Zero(d);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) {
    const size_t at = static_cast<size_t>(k) * rows.stride + first;
    const V step = hn::Load(d, rows.step + at);
    taken = hn::MulAdd(step, step, taken);
    work.trial.set(k, hn::Add(hn::Load(d, rows.residual + at), step));
  }
  return hn::Mul(hn::Set(d, scales.beta * scales.susceptibility), hn::Sqrt(taken));
}

template <int T>
HWY_INLINE V objective_at_trial(const TokenCount<T>& tokens, const Scales& scales,
                                const NewtonPoint<T>& work) {
  const D d;
  V size = hn::Zero(d);
  QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) size = hn::MulAdd(work.trial[k], work.trial[k], size);
  return hn::MulAdd(hn::Set(d, 0.5 * scales.susceptibility), size, work.at.loss);
}

/// Accepts a trial that keeps 1e-4 of the descent promised, up to the rounding of the objective.
template <int T>
HWY_INLINE Verdict judge(const TokenCount<T>& tokens, const NewtonRows& rows, int first, V objective,
                         V last_move, const NewtonPoint<T>& work) {
  const D d;
  const V rounding = hn::Set(d, 4e-16 * tokens.value);
  const V wanted =
      hn::MulAdd(hn::Set(d, 1e-4), hn::Load(d, rows.slope + first), hn::Load(d, rows.objective + first));
  const V bound = hn::Add(wanted, hn::MulAdd(rounding, objective, rounding));
  const auto finished = hn::Gt(hn::Load(d, rows.done + first), hn::Zero(d));
  const auto accepted = hn::AndNot(finished, hn::Le(objective, bound));
  return {finished, accepted, hn::And(accepted, close_enough(work, last_move))};
}

/// Moves accepted points to the trial (and over the last step where it is one), cuts the step of the others.
template <int T>
HWY_INLINE void store_progress(const TokenCount<T>& tokens, const NewtonRows& rows, int first, V objective,
                               const Verdict& verdict, const NewtonPoint<T>& work) {
  const D d;
  const auto [finished, accepted, done] = verdict;
  const V before = hn::Load(d, rows.objective + first);
  const V promised = hn::Load(d, rows.slope + first);
  // A step longer than 3/beta leaves the region that the expansion describes.
  const V limit = hn::Set(d, 3.0);
  const V stretch = hn::Div(limit, hn::Max(limit, work.move));
  // A rejected step is cut to the minimum of the parabola through what is known of the objective along it.
  const V excess = hn::Sub(hn::Sub(objective, before), promised);
  const V lowest = hn::Div(hn::Mul(hn::Set(d, -0.5), promised), excess);
  const V cut = hn::Clamp(lowest, hn::Set(d, 0.1), hn::Set(d, 0.5));
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
  hn::Store(hn::IfThenElseZero(hn::Or(finished, done), hn::Set(d, 1.0)), d, rows.done + first);
}

/// One damped Newton step of the points that start at `first`; true when all of them are done.
template <int T>
HWY_INLINE bool advance(const TokenCount<T>& tokens, const Scales& scales, const NewtonRows& rows, int first,
                        NewtonPoint<T>& work) {
  const V last_move = load_trial(tokens, scales, rows, first, work);
  newton_step(tokens, scales, rows, first, work);
  const V objective = objective_at_trial(tokens, scales, work);
  const Verdict verdict = judge(tokens, rows, first, objective, last_move, work);
  store_progress(tokens, rows, first, objective, verdict, work);
  return hn::AllTrue(D(), hn::Or(verdict.finished, verdict.done));
}

inline void forget_history(const NewtonRows& rows, int pairs) {
  const D d;
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  for (int i = 0; i < rows.count; i += static_cast<int>(hn::Lanes(d))) {
    for (int k = 0; k < pairs; ++k)
      hn::Store(hn::Zero(d), d, rows.step + static_cast<size_t>(k) * rows.stride + i);
    hn::Store(hn::Zero(d), d, rows.slope + i);
    hn::Store(infinity, d, rows.objective + i);
    hn::Store(hn::Zero(d), d, rows.done + i);
  }
}

/// Sweeps over the vectors that are not done, one step each, so that neighbouring vectors overlap in the
/// pipeline.
template <int T>
void minimise_points(const Channel& channel, double susceptibility, const NewtonRows& rows) {
  const TokenCount<T> tokens(channel.tokens);
  const Scales scales(channel, susceptibility);
  const auto memory =
      hwy::AllocateAligned<double>(NewtonPoint<T>::store_size(channel.tokens) * hn::Lanes(D()));
  forget_history(rows, tokens.pairs);
  std::array<int, kMaxBatch> open;
  int open_count = 0;
  for (int i = 0; i < rows.count; i += static_cast<int>(hn::Lanes(D()))) open[open_count++] = i;
  for (int step = 0; step < kMaxSteps && open_count > 0; ++step) {
    int kept = 0;
    for (int j = 0; j < open_count; ++j) {
      LaneStore<D> store(memory.get());
      NewtonPoint<T> work(store, tokens);
      if (!advance(tokens, scales, rows, open[j], work)) open[kept++] = open[j];
    }
    open_count = kept;
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

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab {

HWY_EXPORT(minimise_batch);

void minimise(const Channel& channel, double susceptibility, const NewtonRows& rows) {
  HWY_DYNAMIC_DISPATCH(minimise_batch)(channel, susceptibility, rows);
}

}  // namespace qklab
#endif
