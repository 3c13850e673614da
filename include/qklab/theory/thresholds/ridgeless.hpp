#pragma once

#include "qklab/core/problem.hpp"
#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab::theory {

/// The minimiser in the limit lambda -> 0+ for labels without noise: of all students without training loss
/// the one of least trace (docs/theory section 6.1).
struct RidgelessStudent {
  double overlap = 0;        ///< m
  double squared_error = 0;  ///< Q0 - 2 m + q; exactly 0 from recovery on
  Estimate test_error;       ///< E ||sigma(h0) - sigma(h)||_F^2
};

/// Solves (6.1) and (6.2) at the problem's alpha; lambda plays no part, and the sampling serves the test
/// error alone. Throws InvalidParameter unless the student is tied and there is a threshold of recovery.
RidgelessStudent ridgeless_student(const Problem& problem, const QmcOptions& qmc = {});

}  // namespace qklab::theory
