#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/core/sobol.hpp"

namespace qklab {

/// Second moments of teacher and student scores in white coordinates: each of the r components of (e0, w) has
/// variances Q0 and q and covariance m.
///
/// Held as (Q0, m, q - m^2/Q0), which keep their digits near recovery, where q Q0 - m^2 and Q0 - 2m + q are
/// tiny.
struct ScoreOverlaps {
  constexpr ScoreOverlaps(double q0, double m, double q)
      : teacher_self_overlap(q0), overlap(m), orthogonal(q - m * m / q0) {}
  /// The same with the part of the student's variance that is independent of the teacher, q - m^2/Q0 >= 0.
  static constexpr ScoreOverlaps from_orthogonal(double q0, double m, double orthogonal) {
    ScoreOverlaps overlaps(q0, m, 0);
    overlaps.orthogonal = orthogonal;
    return overlaps;
  }

  /// q
  constexpr double self_overlap() const { return overlap * overlap / teacher_self_overlap + orthogonal; }
  /// Q0 - 2m + q, the mean square of e0 - w in each component.
  constexpr double squared_error() const {
    const double defect = teacher_self_overlap - overlap;
    return defect * defect / teacher_self_overlap + orthogonal;
  }

  double teacher_self_overlap;  ///< Q0
  double overlap;               ///< m
  double orthogonal;            ///< q - m^2/Q0
};

/// Gaussian expectations over one scrambling, in white coordinates (docs/theory section 2).
///
/// With z = e0 + sqrt(noise_in) xi, y = sigma(z) + sqrt(noise_out) eta:
///   e* = argmin_e ||y - sigma(e)||_F^2 + |e - w|^2/(2V),  g = (e* - w)/V.
///
/// Which divergence: where no points compete the map is smooth and both estimates have the same limit, where
/// points compete e* jumps and only Stein's is right. Taken alone the implicit one has the smaller error (5
/// to 20 times at beta = 1); in a fixed point Stein's mostly wins, because its error is correlated with that
/// of E |g|^2 (docs/theory section 2.1). At q = m^2/Q0 without noise_in Stein's do not exist and the implicit
/// ones stand in for them.
struct OutputExpectations {
  double gradient_square = 0;              ///< E |g|^2                     qhat = 2 alpha times this
  double teacher_divergence_stein = 0;     ///< E div_z g by Stein          mhat = 2 alpha times this
  double student_divergence_stein = 0;     ///< E div_w g by Stein          Vhat = -2 alpha times this
  double teacher_divergence_implicit = 0;  ///< the same by implicit differentiation (misses jumps of e*)
  double student_divergence_implicit = 0;
  double jacobian_square = 0;  ///< E |dg/dw|_F^2 by implicit differentiation (enters the stability number)
  double loss = 0;             ///< E ||y - sigma(e*)||_F^2, label noise included
  double unconverged = 0;      ///< fraction of points whose proximal map did not reach its tolerance
  double competing = 0;        ///< fraction of points where several distinct minima were found
};

/// Evaluates the output side of the state evolution with common random numbers: the points are fixed at
/// construction, so the expectations are deterministic functions of (overlaps, V). Identity is evaluated in
/// closed form.
///
/// Keeps the last proximal points as one more start of the next evaluation (never the only one).
class OutputExpectation {
 public:
  /// Throws InvalidParameter for noise < 0 or not finite, or options out of range.
  OutputExpectation(Channel channel, double noise_in, double noise_out, QmcOptions options);
  ~OutputExpectation();
  OutputExpectation(OutputExpectation&&) noexcept;
  OutputExpectation& operator=(OutputExpectation&&) noexcept;

  /// One entry for each scrambling (identity: all equal). Domain: Q0 > 0, q >= m^2/Q0 (to rounding), V > 0.
  std::vector<OutputExpectations> evaluate(const ScoreOverlaps& overlaps, double susceptibility);

  /// The V -> 0 limit, for the zero solution: g = -d loss/d e at e = w.
  std::vector<OutputExpectations> evaluate_at_zero_susceptibility(const ScoreOverlaps& overlaps);

  /// E ||sigma(h0) - sigma(h)||_F^2 for each scrambling, no label noise.
  std::vector<double> test_error(const ScoreOverlaps& overlaps) const;

  const Channel& channel() const;
  const QmcOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qklab
