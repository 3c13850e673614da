#pragma once

#include <optional>
#include <vector>

#include "qklab/channel/expectation/saturation.hpp"
#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/theory/erm/state_evolution.hpp"
#include "qklab/theory/generalization/teacher_modes.hpp"

namespace qklab::theory {

/// |S - c S0|_F^2/d = q - 2 c m + c^2 Q0 by spectral parts, c the pseudo-true scale. R are the recovered
/// teacher modes with the outliers they raise, B the rest of the student's spectrum. The four add up exactly.
struct ErrorParts {
  double overfitting = 0;    ///< the student's levels in B, squared: noise that was learned
  double underfitting = 0;   ///< teacher modes that are not recovered
  double approximation = 0;  ///< recovered modes: learned value and direction against the teacher's
  double cross = 0;          ///< -2 c (overlap of student and teacher outside R): < 0, B is not pure noise

  double sum() const { return overfitting + underfitting + approximation + cross; }
};

/// A teacher mode and what it adds to q - 2 c m + c^2 Q0: (c s)^2/d before it is recovered.
struct ModeContribution {
  TeacherMode mode;
  double contribution = 0;
};

/// The test error by its spectral parts:
///   test_error = saturation_error + G_q parts.sum() + mismatch + remainder,
/// first order in the distance from saturation, with the exact remainder. Source: docs/theory section 7.3.
struct Decomposition {
  ErrorParts parts;
  Estimate mismatch;   ///< (G_m + 2 c G_q)(m - c Q0), 0 where c = 1
  Estimate remainder;  ///< all that is not first order; exactly 0 for the identity
  Estimate test_error;
  Estimate saturation_error;       ///< G(c Q0, c^2 Q0), the test error of unlimited data
  Estimate scale;                  ///< c
  Estimate gradient_self_overlap;  ///< G_q
  Estimate gradient_scale;         ///< G_m + 2 c G_q
  int recovered = 0;               ///< number of recovered modes at the problem's dimension
  /// True for a teacher with a continuous law, whose modes are recovered together: R is all of them once
  /// their band leaves the bulk.
  bool is_band = false;
  std::vector<ModeContribution> modes;  ///< of a teacher given mode by mode, largest first
};

/// Splits the test error of a solution. `qmc` samples the saturation (softmax). Throws InvalidParameter when
/// the solution is not an answer, or is that of an untied student whose law is known only by samples.
Decomposition decompose(const Solution& solution, const QmcOptions& qmc = {});

/// The same for one solution after another: the saturation is sampled once as long as channel, noise and Q0
/// stay.
class Decomposer {
 public:
  explicit Decomposer(const QmcOptions& qmc) : qmc_(qmc) {}
  Decomposition operator()(const Solution& solution);

 private:
  const Saturation& saturation_of(const Problem& problem);

  QmcOptions qmc_;
  Problem last_;
  std::optional<Saturation> saturation_;
};

}  // namespace qklab::theory
