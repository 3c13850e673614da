#pragma once

#include "qklab/channel/labels/channel.hpp"
#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab {

/// Where the test error settles when data are plenty at fixed noise, and how it rises near there
/// (docs/theory section 7.1).
///
/// With unlimited data the student becomes S = c S0, c the pseudo-true scale: the minimiser of
/// E ||sigma(h0 + sqrt(noise_in) xi) - sigma(c h0)||_F^2, 1 without noise on the scores. G(m, q) is the
/// test-error function E ||sigma(h0) - sigma(h)||_F^2 of the overlaps, its slopes are taken at (c Q0, c^2
/// Q0).
struct Saturation {
  Estimate scale;                  ///< c
  Estimate test_error;             ///< G(c Q0, c^2 Q0), 0 without noise on the scores
  Estimate gradient_self_overlap;  ///< dG/dq at fixed m, > 0
  Estimate gradient_scale;         ///< dG/dm + 2 c dG/dq, the slope along S = c S0 divided by Q0
};

/// Closed form for the identity; sampled for the softmax, with standard errors over scramblings. Throws
/// InvalidParameter for a channel or option outside its domain, noise_in < 0 or Q0 <= 0.
Saturation saturation(const Channel& channel, double noise_in, double teacher_self_overlap,
                      const QmcOptions& options);

}  // namespace qklab
