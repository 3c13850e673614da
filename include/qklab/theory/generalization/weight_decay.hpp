#pragma once

#include <vector>

#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::theory {

/// How far to search for the best weight decay, and what to know about it.
struct TuneOptions {
  double precision = 1e-3;  ///< of log lambda
  double flat_rise = 0.01;  ///< the relative rise of the test error that bounds the flat range
  bool flatness = true;     ///< find the flat range
  int replicas = 4;         ///< independent samples behind the standard error of lambda (softmax, exact
                            ///< spectra); 0: none
};

/// The weight decay that minimises the predicted test error.
struct BestWeightDecay {
  Estimate lambda;
  Solution best;  ///< the solution there
  /// True when the test error still falls at the smallest weight decay tried, `lambda`: none is best.
  bool vanishes = false;
  /// Where the test error is `flat_rise` above its minimum; NaN when it never rises that far, or not asked
  /// for.
  double flat_low = 0;
  double flat_high = 0;
  std::vector<Solution> curve;  ///< all solutions of the search, ascending in lambda
  Outcome outcome = Outcome::stagnated;
};

/// Searches from the problem's own weight decay outward by factors of sqrt(10) until the test error rises on
/// both sides, then by Brent's method in log lambda. The lowest of the minima met is refined. A problem whose
/// student is zero for every weight decay, or that converges nowhere, has the outcome of its last solution.
///
/// Throws InvalidParameter for an option out of range and for problems outside the domain of StateEvolution.
BestWeightDecay best_weight_decay(const Problem& problem, StateEvolution& evolution,
                                  const TuneOptions& options = {});

}  // namespace qklab::theory
