#pragma once

#include <memory>

#include "qklab/core/problem.hpp"
#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab::dynamics {

/// What one sample costs, as a function of centred scores of a symmetric student and of a symmetric teacher
/// (docs/theory section 10.5.1).
struct SampleLoss {
  /// Which entries of the T x T matrix of labels count: all, or the one of tokens 1 and 2 alone.
  enum class Entries { all, one_pair };

  /// softmax: sum_ab (sigma_beta(h)_ab - sigma_beta(h0)_ab)^2. identity and hermite2, hermite3 (He_2 = x^2 -
  /// 1, He_3 = x^3 - 3x), entry by entry: sum_ab (He_k(beta h_ab) - He_k(beta h0_ab))^2; identity is He_1
  /// with beta = 1.
  Activation activation = Activation::softmax;
  int tokens = 2;
  double beta = 1;
  Entries entries = Entries::all;
};

/// Throws InvalidParameter unless T >= 2 for the softmax and for one pair, T >= 1 otherwise, beta > 0, and
/// one pair is asked of an activation that acts entry by entry.
SampleLoss checked(SampleLoss loss);

/// The sample loss over all entries of a problem's activation, tokens and beta.
SampleLoss sample_loss_of(const Problem& problem);

/// Population loss at (m, q) and its slopes.
struct LossSlopes {
  Estimate loss;            ///< Phi(m, q) = E l; sampled for the softmax of three tokens or more
  double overlap = 0;       ///< Phi_m
  double self_overlap = 0;  ///< Phi_q
};

/// Population loss of a symmetric pair as a function of the overlaps, for centred scores of independent
/// tokens (C = I) in the limit of large d.
///
/// The slopes are expectations of second derivatives (Price's theorem), so that nothing is divided by q -
/// m^2/Q0, which vanishes at alignment. Entry-by-entry activations are polynomials in (m, q, Q0); two tokens
/// of softmax are sums over a grid of two dimensions, to about 12 digits at any beta; more tokens are
/// sampled, as deterministic functions of (m, q).
class SymmetricLoss {
 public:
  /// Q0 = Tr(S0^2)/d > 0. Throws InvalidParameter when an argument is outside its domain.
  SymmetricLoss(const SampleLoss& loss, double teacher_self_overlap,
                QmcOptions qmc = {.log2_points = 13, .scramblings = 8, .seed = 1});
  ~SymmetricLoss();
  SymmetricLoss(SymmetricLoss&&) noexcept;
  SymmetricLoss& operator=(SymmetricLoss&&) noexcept;

  /// Domain: q >= m^2/Q0; a q below it counts as it.
  LossSlopes slopes(double overlap, double self_overlap) const;

  /// kN = E Tr(Delta C Delta C), Delta = g + g^T, g_ab = d l/d G_ab at ordered pairs: the strength of the
  /// gradient's noise in one sample (docs/theory section 10.3).
  double noise_strength(double overlap, double self_overlap) const;

  const SampleLoss& sample() const;
  double teacher_self_overlap() const;

  struct Form;

 private:
  SampleLoss sample_;
  double teacher_self_overlap_;
  std::unique_ptr<Form> form_;
};

}  // namespace qklab::dynamics
