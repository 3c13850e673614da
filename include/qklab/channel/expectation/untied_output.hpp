#pragma once

#include <memory>
#include <vector>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/channel/labels/channel.hpp"
#include "qklab/channel/proximal/untied_susceptibilities.hpp"
#include "qklab/core/sobol.hpp"

namespace qklab {

/// Second moments of the scores of all ordered pairs, in white coordinates (docs/theory section 8.1): r_s
/// symmetric components as for tied students, and T(T-1)/2 antisymmetric ones that the teacher does not have.
struct UntiedOverlaps {
  ScoreOverlaps symmetric;
  double antisymmetric = 0;  ///< q_a, the variance of each antisymmetric component, >= 0
};

/// Gaussian expectations over one scrambling. With g_s, g_a the residuals of the proximal map (8.4):
struct UntiedOutputExpectations {
  double symmetric_square = 0;             ///< E |g_s|^2
  double antisymmetric_square = 0;         ///< E |g_a|^2
  double teacher_divergence = 0;           ///< E div_z g_s by Stein
  double symmetric_divergence = 0;         ///< E div_w g_s by Stein
  double antisymmetric_divergence = 0;     ///< E div_u g_a by Stein
  double teacher_divergence_implicit = 0;  ///< the same by implicit differentiation (misses jumps)
  double symmetric_divergence_implicit = 0;
  double antisymmetric_divergence_implicit = 0;
  double symmetric_jacobian = 0;      ///< E |dg_s/dw|_F^2 by implicit differentiation
  double mixed_jacobian = 0;          ///< E |dg_s/du|_F^2 = E |dg_a/dw|_F^2
  double antisymmetric_jacobian = 0;  ///< E |dg_a/du|_F^2
  double loss = 0;                    ///< E ||y - sigma(h*)||_F^2, label noise included
  double unconverged = 0;             ///< fraction of points whose proximal map did not reach its tolerance
  double competing = 0;               ///< fraction of points where several distinct minima were found
};

/// The output side of the state evolution of untied students (docs/theory section 8.2), with common random
/// numbers: expectations are deterministic functions of overlaps and susceptibilities. Identity is evaluated
/// in closed form.
class UntiedOutput {
 public:
  /// Throws InvalidParameter for a channel outside its domain or with one token, noise < 0 or not finite, or
  /// options out of range.
  UntiedOutput(Channel channel, double noise_in, double noise_out, QmcOptions options);
  ~UntiedOutput();
  UntiedOutput(UntiedOutput&&) noexcept;
  UntiedOutput& operator=(UntiedOutput&&) noexcept;

  /// One entry for each scrambling (identity: all equal). Domain: Q0 > 0, q_s >= m^2/Q0, q_a >= 0, V > 0.
  /// Where a component has no variance of its own the implicit divergences stand in for Stein's.
  std::vector<UntiedOutputExpectations> evaluate(const UntiedOverlaps& overlaps,
                                                 const UntiedSusceptibilities& susceptibilities);

  /// The V -> 0 limit, for the zero solution.
  std::vector<UntiedOutputExpectations> evaluate_at_zero_susceptibility(const UntiedOverlaps& overlaps);

  /// E ||sigma(h0) - sigma(h)||_F^2 for each scrambling, no label noise.
  std::vector<double> test_error(const UntiedOverlaps& overlaps) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qklab
