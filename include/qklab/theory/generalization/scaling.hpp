#pragma once

#include <limits>
#include <string>
#include <vector>

#include "qklab/core/progress.hpp"
#include "qklab/theory/erm/state_evolution.hpp"
#include "qklab/theory/generalization/decomposition.hpp"

namespace qklab::theory {

/// How the test error of a teacher given mode by mode falls with the number of samples.
enum class ScalingRegime {
  before_onset,  ///< no mode is recovered, the error hardly falls
  emergence,     ///< modes enter one after another: the power law
  saturated,     ///< the threshold keeps a level for every mode; the rest falls like 1/n
};

std::string to_string(ScalingRegime regime);

struct ScalingPoint {
  Solution solution;        ///< at the weight decay used, solution.problem.lambda
  double samples = 0;       ///< n = alpha d^2
  Estimate excess;          ///< test error above that of unlimited data
  int recovered = 0;        ///< number of teacher modes
  Estimate local_exponent;  ///< d log excess/d log n between the neighbouring points
  ScalingRegime regime = ScalingRegime::before_onset;
};

/// One teacher mode along the points.
struct ModeEntry {
  int mode = 1;                   ///< 1 is the largest
  double enters = 0;              ///< n at which it is recovered; NaN when that is not between two points
  std::vector<double> remaining;  ///< its part of the error over (c s)^2/d: 1 before it enters, more just
                                  ///< after, then falling
};

struct ScalingOptions {
  bool tuned = true;   ///< each point at its best weight decay; else at its own
  int modes = 10;      ///< how many of the largest modes are followed, >= 0
  double fit_low = 0;  ///< samples between which the exponent is fitted; 0 and infinity: chosen by regime
  double fit_high = std::numeric_limits<double>::infinity();
  QmcOptions qmc{};  ///< sampling of the saturation (softmax)
  ProgressCallback progress{};
};

struct ScalingLaw {
  std::vector<ScalingPoint> points;  ///< those that converged, ascending in n
  Estimate saturation_error;         ///< test error of unlimited data
  Estimate exponent;                 ///< of a straight line through the fitted points, error from its scatter
  double fitted_from = 0;            ///< n of the first and last fitted point
  double fitted_to = 0;
  std::vector<ModeEntry> modes;
  int unconverged = 0;  ///< points left out
  Outcome outcome = Outcome::stagnated;
};

/// -(1 - 1/(2 gamma)), the limit of the exponent at optimal weight decay between onset and saturation
/// (docs/theory section 7.5). Domain: gamma > 1/2.
double predicted_exponent(double gamma);

/// Solves a series of problems that differ in alpha, ascending. Without a range to fit, the line goes through
/// the points with at least 3 recovered modes and at most a quarter of all, or else through all points of the
/// emergence regime, or else through all.
///
/// Throws InvalidParameter for fewer than 2 problems, alphas that do not ascend, and teachers with a
/// continuous law.
ScalingLaw scaling_law(const std::vector<Problem>& series, StateEvolution& evolution,
                       const ScalingOptions& options = {});

}  // namespace qklab::theory
