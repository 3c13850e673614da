#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qklab/channel/attention_indexed/attention_indexed.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/experiment/document/document.hpp"
#include "qklab/lab/online/online_sgd.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::experiment {

/// How learning in time is followed, all on the clock tau = step size * steps/d (docs/theory section 10).
enum class Method {
  sgd,        ///< online descent at finite d, seed by seed
  exact,      ///< tied, d -> infinity: the exact solution
  truncated,  ///< tied: the exact solution of a teacher of `order` Gauss nodes
  words,      ///< tied: moments of words up to length `order`, the rest dropped
  flow,       ///< flow of d x d matrices at vanishing step size, seed by seed
  direct,     ///< direct, d -> infinity: closed equations of the overlaps
  fast,       ///< untied: mu relaxes at frozen overlaps, on the clock t = d tau
  untied      ///< untied: slow phase on the critical manifold, matrices of size d, seed by seed
};

/// What learns from whom.
struct DynamicsProblem {
  AttentionIndexedModel model{};
  Parametrization parametrization = Parametrization::tied;
  Teacher teacher = WishartTeacher{};
  bool traceless = false;  ///< t0 = Tr S0/d is taken from the teacher: S0 - t0 I
  double kappa = 1;        ///< width ratio p/d of the student
  int dimension = 200;     ///< d
};

struct DynamicsOptions {
  std::vector<double> times;  ///< to report, ascending, >= 0; the last is the end
  int order = 4;              ///< of truncated and words
  /// Tr S/d at the start of a tied student; untied: Tr U U^T/d. A direct one starts at the same Tr S^2/d.
  double start = 0.3;
  lab::DirectStart direct_start = lab::DirectStart::gaussian;
  double step = 0.01;       ///< eta
  int batch = 512;          ///< B
  double weight_decay = 0;  ///< g
  /// Theories take the noise of finite steps along, at nu = eta d/B (docs/theory section 10.3); else nu = 0.
  bool step_noise = false;
  int seeds = 1;
  std::uint64_t first_seed = 1;
  std::vector<double> thresholds{0.1, 0.3, 0.5};  ///< of escape, (10.10)
  bool spectra = false;                           ///< keep eigenvalues of the runs of sgd at every time
  lab::Precision precision = lab::Precision::f32;
  ProgressCallback progress{};
  StopToken stop{};
};

/// One time. Standard errors are those of the mean over seeds, or of sampled expectations; 0 where there is
/// one seed or nothing is sampled.
struct DynamicsPoint {
  double time = 0;             ///< tau
  double samples = 0;          ///< n = tau d^2/nu
  Estimate overlap;            ///< m
  Estimate self_overlap;       ///< q
  Estimate trace;              ///< t1
  Estimate score_mean;         ///< mu = Tr S/sqrt d; on the critical manifold where the method puts it there
  Estimate alignment;          ///< m/sqrt(q Q0)
  Estimate centred_alignment;  ///< (m - t1 t0)/sqrt((q - t1^2)(Q0 - t0^2))
  Estimate loss;               ///< Phi of theories, mean over fresh samples of runs
};

/// When a threshold is passed, over the seeds that passed it.
struct MeanEscape {
  double threshold = 0;
  Estimate time;       ///< tau; NaN where no seed escaped
  Estimate samples;    ///< n
  double escaped = 0;  ///< share of the seeds that did
};

/// A student followed by one method.
struct MethodRun {
  Method method = Method::exact;
  int order = 0;                      ///< of truncated and words, else 0
  std::vector<DynamicsPoint> points;  ///< one a time of the options; fewer where every way ended before
  std::vector<MeanEscape> escapes;    ///< one a threshold
  double teacher_self_overlap = 0;    ///< Q0, mean over seeds
  double teacher_trace = 0;           ///< t0
  double trusted_until = 0;           ///< last time at which the method is its own limit; infinite if always
  int seeds = 0;     ///< that were averaged, those that did not diverge; 0: the limit d -> infinity
  int diverged = 0;  ///< seeds that did
  std::vector<lab::OnlineRun> runs;  ///< of sgd
  double seconds = 0;
  Outcome outcome = Outcome::converged;  ///< the first one that is none, over seeds
};

/// Throws InvalidParameter for a problem or options outside their domain, and for a method that does not know
/// the problem: exact, truncated and words need a tied student, direct a direct one, untied an untied one.
void require_method(Method method, const DynamicsProblem& problem, const DynamicsOptions& options);

/// Follows the problem by each method in turn and hands over each when it is complete; false when stopped
/// before the last. Throws like require_method(), before anything is computed.
bool follow(const DynamicsProblem& problem, const std::vector<Method>& methods,
            const DynamicsOptions& options, const std::function<void(const MethodRun&)>& report);

/// S0 of one seed: that of lab::draw_teacher, without its mean eigenvalue if the problem says so; teacher k
/// of several is drawn from seed + k 2^32.
std::vector<lab::Matrix> draw_teachers(const DynamicsProblem& problem, std::uint64_t seed);

/// Law of the teacher's eigenvalues as discrete atoms: of the limit for a Wishart teacher.
DiscreteLaw teacher_nodes(const DynamicsProblem& problem);

/// The resolved problem, the options, and {"method", "time": [...], "overlap": [...], "self_overlap": [...],
/// "loss": [...], "escape": {...}, ...}.
Json to_json(const DynamicsProblem& problem, const DynamicsOptions& options, const MethodRun& run);

std::string to_string(Method method);
/// Inverse of to_string; throws InvalidParameter listing the allowed names.
Method parse_method(const std::string& name);

}  // namespace qklab::experiment
