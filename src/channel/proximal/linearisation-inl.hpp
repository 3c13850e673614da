// The softmax loss of one vector of points, expanded to second order. Included once for every target.
#if defined(QKLAB_CHANNEL_LINEARISATION_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QKLAB_CHANNEL_LINEARISATION_INL_HPP
#undef QKLAB_CHANNEL_LINEARISATION_INL_HPP
#else
#define QKLAB_CHANNEL_LINEARISATION_INL_HPP
#endif

#include <cmath>
#include <numbers>

#include "channel/labels/lanes-inl.hpp"
#include "qklab/channel/labels/channel.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

/// Scalars that every point of a batch shares.
struct Scales {
  Scales(const Channel& channel, double v)
      : susceptibility(v),
        beta(channel.beta),
        diagonal_logit(std::numbers::sqrt2 * channel.beta),
        link_logit(channel.beta),
        weight(std::sqrt(2 * v)) {}

  /// d logit_ab/d e_ab = beta sqrt(1 + delta_ab).
  HWY_INLINE double logit(int a, int b) const { return a == b ? diagonal_logit : link_logit; }
  /// sqrt(2 V) times the same.
  HWY_INLINE double root(int a, int b) const { return weight * logit(a, b); }

  double susceptibility;
  double beta;
  double diagonal_logit;
  double link_logit;
  double weight;
};

/// Loss, gradient and Hessian at e, row by row of the attention matrix.
///
/// With p the softmax of row a, r = p (rho - p.rho), rho = p - y: the gradient in the logits is 2 r and the
/// Hessian 2 [diag(q) - p q^T - q p^T + |p|^2 p p^T], q = r + p^2. Scaled by V and in the coordinates e it is
/// diag(root v) - u m^T - m u^T with u = root p, v = root q, m = v - |p|^2 u/2.
template <class D, int T>
class Linearisation {
 public:
  using V = hn::Vec<D>;

  Linearisation(LaneStore<D>& store, const TokenCount<T>& tokens)
      : u(store, tokens.value * tokens.value),
        m(store, tokens.value * tokens.value),
        own(store, tokens.value * tokens.value),
        gradient(store, tokens.pairs),
        row_(store, tokens.value) {}

  static int store_size(int tokens) { return 3 * tokens * tokens + tokens * (tokens + 1) / 2 + tokens; }

  template <int kSize>
  HWY_INLINE void expand(D d, const TokenCount<T>& tokens, const Scales& scales,
                         const LaneArray<D, kSize>& point, const double* label, int stride) {
    loss = hn::Zero(d);
    QKLAB_UNROLL for (int k = 0; k < tokens.pairs; ++k) gradient.set(k, hn::Zero(d));
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a)
        expand_row(d, tokens, scales, point, label, stride, a);
  }

  LaneArray<D, T * T> u;
  LaneArray<D, T * T> m;
  LaneArray<D, T * T> own;  ///< root v, the diagonal part of the scaled Hessian
  LaneArray<D, TokenCount<T>(T).pairs> gradient;
  V loss;

 private:
  template <int kSize>
  HWY_INLINE void expand_row(D d, const TokenCount<T>& tokens, const Scales& scales,
                             const LaneArray<D, kSize>& point, const double* label, int stride, int a) {
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      row_.set(b, hn::Mul(hn::Set(d, scales.logit(a, b)), point[pair_index(tokens, a, b)]));
    }
    softmax_row(d, tokens, row_);
    auto mean = hn::Zero(d);
    auto purity = hn::Zero(d);
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      const V p = row_[b];
      const V misfit = hn::Sub(p, hn::Load(d, label + static_cast<size_t>(a * tokens.value + b) * stride));
      loss = hn::MulAdd(misfit, misfit, loss);
      mean = hn::MulAdd(p, misfit, mean);
      purity = hn::MulAdd(p, p, purity);
      m.set(a * tokens.value + b, misfit);
    }
    const V half_purity = hn::Mul(hn::Set(d, 0.5), purity);
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      const int entry = a * tokens.value + b;
      const int k = pair_index(tokens, a, b);
      const V root = hn::Set(d, scales.root(a, b));
      const V p = row_[b];
      const V r = hn::Mul(p, hn::Sub(m[entry], mean));
      gradient.set(k, hn::MulAdd(hn::Set(d, 2 * scales.logit(a, b)), r, gradient[k]));
      const V v = hn::Mul(root, hn::MulAdd(p, p, r));
      u.set(entry, hn::Mul(root, p));
      own.set(entry, hn::Mul(root, v));
      m.set(entry, hn::NegMulAdd(half_purity, u[entry], v));
    }
  }

  LaneArray<D, T> row_;
};

/// LDL^T factors of I + V Hess, diagonal scores e_aa first: each couples only to the scores of its own row,
/// so only the block of pairs a < b ("links") fills. Pivots that are not positive are replaced by their
/// modulus, which keeps the solution a descent direction; `smallest` is the smallest pivot before that.
template <class D, int T>
class Factors {
 public:
  using V = hn::Vec<D>;

  Factors(LaneStore<D>& store, const TokenCount<T>& tokens)
      : diagonal_(store, tokens.value),
        coupling_(store, tokens.value * tokens.value),
        block_(store, tokens.links * tokens.links),
        link_(store, tokens.links) {}

  static int store_size(int tokens) {
    const int links = tokens * (tokens - 1) / 2;
    return tokens + tokens * tokens + links * links + links;
  }

  HWY_INLINE void factor(D d, const TokenCount<T>& tokens, const Linearisation<D, T>& at) {
    smallest = hn::Set(d, 1e300);
    assemble_links(d, tokens, at);
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) eliminate_diagonal(d, tokens, at, a);
    QKLAB_UNROLL for (int j = 0; j < tokens.links; ++j) eliminate_link(d, tokens, j);
  }

  /// Overwrites x (packed like scores) with (I + V Hess)^{-1} x.
  template <int kSize>
  HWY_INLINE void solve(const TokenCount<T>& tokens, LaneArray<D, kSize>& x) const {
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      const V top = x[pair_index(tokens, a, a)];
      QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
        if (b == a) continue;
        const int k = pair_index(tokens, a, b);
        x.set(k, hn::NegMulAdd(coupling_[a * tokens.value + b], top, x[k]));
      }
    }
    solve_links(tokens, x);
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      const int top = pair_index(tokens, a, a);
      V value = hn::Mul(x[top], diagonal_[a]);
      QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
        if (b == a) continue;
        value = hn::NegMulAdd(coupling_[a * tokens.value + b], x[pair_index(tokens, a, b)], value);
      }
      x.set(top, value);
    }
  }

  V smallest;

 private:
  HWY_INLINE V inverse_pivot(D d, V pivot) {
    smallest = hn::Min(smallest, pivot);
    return hn::Div(hn::Set(d, 1.0), hn::Max(hn::Abs(pivot), hn::Set(d, 1e-6)));
  }

  /// Entry ((a, b), (a, c)) of V Hess that row a contributes.
  HWY_INLINE static V mixed_entry(const TokenCount<T>& tokens, const Linearisation<D, T>& at, int a, int b,
                                  int c) {
    const int ab = a * tokens.value + b;
    const int ac = a * tokens.value + c;
    return hn::Neg(hn::MulAdd(at.u[ab], at.m[ac], hn::Mul(at.m[ab], at.u[ac])));
  }

  HWY_INLINE void assemble_links(D d, const TokenCount<T>& tokens, const Linearisation<D, T>& at) {
    const int links = tokens.links;
    QKLAB_UNROLL for (int i = 0; i < links * links; ++i) block_.set(i, hn::Zero(d));
    QKLAB_UNROLL for (int j = 0; j < links; ++j) block_.set(j * links + j, hn::Set(d, 1.0));
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
        if (b == a) continue;
        const int i = link_index(tokens, a, b);
        const V own = hn::Add(at.own[a * tokens.value + b], mixed_entry(tokens, at, a, b, b));
        block_.set(i * links + i, hn::Add(block_[i * links + i], own));
        QKLAB_UNROLL for (int c = 0; c < tokens.value; ++c) {
          const int j = c == a ? i : link_index(tokens, a, c);
          if (j < i) block_.set(i * links + j, mixed_entry(tokens, at, a, b, c));
        }
      }
    }
  }

  HWY_INLINE void eliminate_diagonal(D d, const TokenCount<T>& tokens, const Linearisation<D, T>& at, int a) {
    const int links = tokens.links;
    const int top = a * tokens.value + a;
    const V pivot = hn::Add(hn::Set(d, 1.0), hn::Add(at.own[top], mixed_entry(tokens, at, a, a, a)));
    diagonal_.set(a, inverse_pivot(d, pivot));
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      if (b == a) continue;
      coupling_.set(a * tokens.value + b, mixed_entry(tokens, at, a, a, b));
    }
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      if (b == a) continue;
      const int i = link_index(tokens, a, b);
      const V ratio = hn::Mul(coupling_[a * tokens.value + b], diagonal_[a]);
      QKLAB_UNROLL for (int c = 0; c < tokens.value; ++c) {
        if (c == a) continue;
        const int j = link_index(tokens, a, c);
        if (j <= i) {
          block_.set(i * links + j,
                     hn::NegMulAdd(ratio, coupling_[a * tokens.value + c], block_[i * links + j]));
        }
      }
    }
    QKLAB_UNROLL for (int b = 0; b < tokens.value; ++b) {
      if (b == a) continue;
      coupling_.set(a * tokens.value + b, hn::Mul(coupling_[a * tokens.value + b], diagonal_[a]));
    }
  }

  HWY_INLINE void eliminate_link(D d, const TokenCount<T>& tokens, int j) {
    const int links = tokens.links;
    link_.set(j, inverse_pivot(d, block_[j * links + j]));
    QKLAB_UNROLL for (int i = links - 1; i > j; --i) {
      const V ratio = hn::Mul(block_[i * links + j], link_[j]);
      QKLAB_UNROLL for (int k = j + 1; k <= i; ++k) {
        block_.set(i * links + k, hn::NegMulAdd(ratio, block_[k * links + j], block_[i * links + k]));
      }
      block_.set(i * links + j, ratio);
    }
  }

  template <int kSize>
  HWY_INLINE void solve_links(const TokenCount<T>& tokens, LaneArray<D, kSize>& x) const {
    const int links = tokens.links;
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      QKLAB_UNROLL for (int b = a + 1; b < tokens.value; ++b) {
        const V value = x[pair_index(tokens, a, b)];
        const int j = link_index(tokens, a, b);
        for_later_links(tokens, j, [&](int i, int k) HWY_ATTR {
          x.set(k, hn::NegMulAdd(block_[i * links + j], value, x[k]));
        });
      }
    }
    QKLAB_UNROLL for (int a = tokens.value - 2; a >= 0; --a) {
      QKLAB_UNROLL for (int b = tokens.value - 1; b > a; --b) {
        const int j = link_index(tokens, a, b);
        V value = hn::Mul(x[pair_index(tokens, a, b)], link_[j]);
        for_later_links(tokens, j, [&](int i, int k) HWY_ATTR {
          value = hn::NegMulAdd(block_[i * links + j], x[k], value);
        });
        x.set(pair_index(tokens, a, b), value);
      }
    }
  }

  /// Calls visit(link, pair) for every link after `first`, in order.
  template <class Visit>
  HWY_INLINE static void for_later_links(const TokenCount<T>& tokens, int first, const Visit& visit) {
    QKLAB_UNROLL for (int a = 0; a < tokens.value; ++a) {
      QKLAB_UNROLL for (int b = a + 1; b < tokens.value; ++b) {
        const int i = link_index(tokens, a, b);
        if (i > first) visit(i, pair_index(tokens, a, b));
      }
    }
  }

  LaneArray<D, T> diagonal_;      ///< inverse pivots of e_aa
  LaneArray<D, T * T> coupling_;  ///< multipliers of e_ab, a != b, by e_aa
  LaneArray<D, TokenCount<T>(T).links * TokenCount<T>(T).links> block_;
  LaneArray<D, TokenCount<T>(T).links> link_;  ///< inverse pivots of the links
};

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
