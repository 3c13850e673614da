#pragma once

#include <optional>
#include <string>

#include "qklab/core/problem.hpp"
#include "qklab/core/sobol.hpp"

namespace qklab::theory {

/// The sample ratio alpha at which something sets in, or why there is none.
struct Threshold {
  std::optional<double> alpha;
  std::string reason;  ///< of having none; empty where there is one
};

/// Where the minimiser at vanishing weight decay changes its nature (docs/theory section 6).
struct Thresholds {
  Threshold interpolation;   ///< up to it the training loss vanishes as lambda -> 0+
  Threshold recovery;        ///< from it on the target is recovered as lambda -> 0+
  Threshold bayes_recovery;  ///< from it on the data determine the target (section 5)
  /// As many visible scores as free entries of the student: none fits more noise. NaN where those entries are
  /// not counted (untied, several tokens or narrow).
  double counting = 0;
};

/// The thresholds by closed formulas, (6.3) to (6.7). alpha and lambda of the problem play no part. Any
/// teacher: recovery depends on its rank alone. Throws InvalidParameter for a problem outside its domain and
/// for activations other than softmax and identity.
Thresholds thresholds(const Problem& problem);

/// How the state evolution is followed to its thresholds.
struct ThresholdOptions {
  QmcOptions qmc{.log2_points = 14, .scramblings = 2};
  double susceptibility = 1e10;  ///< largest V; it is infinite at the thresholds
};

/// A threshold to which the state evolution was followed.
struct FollowedThreshold {
  double alpha = 0;
  double change = 0;  ///< of alpha over the last factor of ten in V
};

/// The same from the state evolution at vanishing weight decay, followed in V from above until V is as good
/// as infinite (section 6.4): none of the closed formulas, and no count of visible scores, enters. Nothing
/// where thresholds() has none and where an iteration fails.
std::optional<FollowedThreshold> follow_to_recovery(const Problem& problem,
                                                    const ThresholdOptions& options = {});
std::optional<FollowedThreshold> follow_to_interpolation(const Problem& problem,
                                                         const ThresholdOptions& options = {});

/// How the noise of the recovered student is thresholded at recovery, in units of that noise.
struct RecoveryShape {
  double degrees = 0;  ///< D(rank) of (6.4), samples r alpha in units of d^2/2
  double level = 0;    ///< the threshold b/delta that attains the minimum
  double rank = 0;     ///< rank ratio of the student that the threshold leaves
};

/// The minimum (6.4) for a target of the given rank ratio in (0, 1]; `two_sided` for a student that is not
/// bound to be positive semidefinite.
RecoveryShape recovery_shape(double rank, bool two_sided);

}  // namespace qklab::theory
