#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qklab/experiment/learning/dynamics.hpp"

namespace qklab::experiment {

/// How the step size falls with d, as nu = eta d/B (docs/theory section 10.7).
enum class StepRule {
  constant,    ///< nu = step_noise: a deterministic theory at n of order d^2
  logarithmic  ///< nu = step_noise/log d: n = tau d^2 log d/step_noise
};

struct WeakRecoveryOptions {
  std::vector<int> dimensions{50, 100, 200};  ///< d, ascending, >= 2
  double threshold = 0.2;                     ///< of escape, (10.10)
  double start = 0.3;                         ///< as in DynamicsOptions
  double step_noise = 0.05;                   ///< nu, or what log d divides
  StepRule rule = StepRule::constant;
  double time = 2;  ///< tau at which a run that has not escaped is given up
  int batch = 0;    ///< B; 0: d, so that the step size is nu
  int seeds = 8;
  std::uint64_t first_seed = 1;
  lab::Precision precision = lab::Precision::f32;
  ProgressCallback progress{};  ///< stage "dimensions"
  StopToken stop{};
};

/// Escape of the runs at one dimension; means and medians over those that escaped.
struct EscapeAt {
  int dimension = 0;
  Estimate time;     ///< tau
  Estimate samples;  ///< n
  double median_time = 0;
  int escaped = 0;
  int diverged = 0;
  int seeds = 0;
  double alignment = 0;  ///< mean of |centred alignment| at the end of those that did not escape
};

/// n = A d^x (log d)^y with y given, fitted to log n by weighted least squares.
struct ScalingFit {
  std::string law;     ///< "A d^2 log d", "A d^2", "A d^x"
  Estimate amplitude;  ///< A
  Estimate exponent;   ///< x; given ones have no error
  double chi2 = 0;
  int degrees = 0;  ///< of freedom
  double aic = 0;   ///< chi2 + 2 (number of fitted parameters): the lowest is the best supported
};

/// What the cross-gradient at the start says before anything is simulated (docs/theory section 10.7).
struct RecoveryVerdict {
  Estimate cross_gradient;  ///< g: d grad_S Phi = ... + g S0; the largest over pairs of student and teacher
  double speed = 0;         ///< d/dtau of Tr(S S0)/d of a traceless teacher, of that pair
  bool recovers = false;    ///< at tau of order 1, n of order d^2/nu; else later, or never
};

struct WeakRecoveryStudy {
  RecoveryVerdict verdict;
  std::vector<EscapeAt> escapes;  ///< one a dimension
  std::vector<ScalingFit> fits;   ///< of the dimensions at which every run escaped; empty if fewer than two
  Outcome outcome = Outcome::converged;
};

/// At the mean order parameters of a start of size `start` (as in DynamicsOptions; a direct student starts
/// gaussian). Uncentred scores: at the critical mu that descent reaches from |mu| = start/sqrt p, p the
/// width.
RecoveryVerdict recovery_verdict(const DynamicsProblem& problem, double start);

/// Runs online descent at each dimension until it escapes and fits how the samples it took grow with d.
/// `report` sees each dimension when it is complete. Throws InvalidParameter when something is out of range.
WeakRecoveryStudy study_weak_recovery(const DynamicsProblem& problem, const WeakRecoveryOptions& options,
                                      const std::function<void(const EscapeAt&)>& report = {});

/// The three laws through (d, n), se of n > 0, in the order of ScalingFit::law. Throws InvalidParameter for
/// fewer than two points or values that are not positive.
std::vector<ScalingFit> fit_escape_samples(const std::vector<int>& dimensions,
                                           const std::vector<Estimate>& samples);

Json to_json(const DynamicsProblem& problem, const WeakRecoveryOptions& options,
             const WeakRecoveryStudy& study);

std::string to_string(StepRule rule);
StepRule parse_step_rule(const std::string& name);

}  // namespace qklab::experiment
