#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qklab/channel/attention_indexed/attention_indexed.hpp"
#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/matrix/matrix.hpp"
#include "qklab/lab/matrix/precision.hpp"
#include "qklab/lab/online/escape.hpp"

namespace qklab::lab {

/// How a direct student starts; both have the same E Tr(S S^T)/d at the same `start` and width.
enum class DirectStart {
  gaussian,  ///< symmetric Gaussian matrix, which knows no sign: Tr S/d = 0 and overlap 0 in the mean
  product    ///< the W W^T from which the tied student of the same seed starts
};

/// Online stochastic gradient descent (docs/theory section 10.3): each step draws `batch` fresh samples and
/// moves the parameters P by -step (mean gradient of the loss + weight_decay P/d).
struct OnlineSgdOptions {
  Parametrization parametrization = Parametrization::tied;
  double kappa = 1;  ///< width ratio p/d of tied and untied students, > 0; of the direct start `product`
  /// Tr S/d of the tied student's start, W with iid N(0, start/p) entries; untied: Tr(U U^T)/d = Tr(V V^T)/d,
  /// U and V independent. > 0.
  double start = 0.3;
  DirectStart direct_start = DirectStart::gaussian;
  double step = 0.1;             ///< eta > 0
  int batch = 512;               ///< B >= 1
  double weight_decay = 0;       ///< g >= 0, in units of the clock: dW/dtau = ... - g W
  std::vector<double> times{1};  ///< tau = eta steps/d to measure at, ascending, >= 0; the last is the end
  /// Escape: the first tau at which the centred overlap exceeds these fractions of what alignment would make
  /// it (OnlineRun::escapes).
  std::vector<double> thresholds{0.1, 0.3, 0.5};
  bool stop_at_last_escape = false;      ///< end once every threshold is passed
  bool spectra = false;                  ///< keep the spectrum of the student at every time
  long loss_samples = 2048;              ///< fresh samples for the loss at each time, >= 2
  Precision precision = Precision::f32;  ///< of the products; parameters, scores and losses are double
  ProgressCallback progress{};           ///< stage "steps"
  StopToken stop{};
};

/// Throws InvalidParameter when an option is out of range.
OnlineSgdOptions checked(OnlineSgdOptions options);

/// A student at one time. Sums over k pair student k with teacher k (k < min(K, K0)); self-overlaps sum over
/// all.
struct OnlinePoint {
  double time = 0;  ///< tau = step size * steps/d; that of the nearest step
  long steps = 0;
  double samples = 0;             ///< n = batch * steps
  double overlap = 0;             ///< m = sum_k Tr(S_k S0_k)/d
  double self_overlap = 0;        ///< q = sum_k Tr(S_k S_k^T)/d
  double transposed_overlap = 0;  ///< sum_k Tr(S_k S_k)/d, q unless the student has an antisymmetric part
  double trace = 0;               ///< t1 = sum_k Tr S_k/d
  double factor_norm = 0;         ///< sum_k (|U_k|^2 + |V_k|^2)/(2 d); tied: Tr S/d; direct: 0
  double alignment = 0;           ///< m/sqrt(q Q0); 0 where q = 0
  /// (m - t1 t0)/sqrt((q - t1^2)(Q0 - t0^2)), t0 = Tr S0/d: what is learned beyond the mean eigenvalue. 0
  /// where a denominator vanishes. K = K0 = 1 only, else NaN.
  double centred_alignment = 0;
  Estimate loss;               ///< mean over fresh samples
  Matrix overlaps;             ///< Tr(S_k S0_l)/d, K x K0
  Matrix self_overlaps;        ///< Tr(S_k S_l^T)/d, K x K
  std::vector<double> traces;  ///< Tr S_k/d; mu_k is sqrt d times this
  /// On request, ascending, of S_1: eigenvalues of its symmetric part, and for untied its singular values.
  std::vector<double> eigenvalues;
  std::vector<double> singular_values;
};

/// One run. Every random choice is a function of `seed`, and on one machine every number is bitwise the same
/// for any number of threads.
struct OnlineRun {
  std::uint64_t seed = 0;
  int dimension = 0;
  double teacher_self_overlap = 0;  ///< Q0 = sum_k Tr(S0_k^2)/d of the teacher drawn
  double teacher_trace = 0;         ///< t0 = sum_k Tr S0_k/d
  std::vector<OnlinePoint> points;  ///< one a time, in order; fewer where the run ended before
  /// One a threshold (10.10), from checks 1 % of tau apart.
  std::vector<Escape> escapes;
  Matrix parameters;  ///< at the end, d x columns: W_k, S_k or [U_k V_k] of the heads side by side
  long steps = 0;
  double seconds = 0;
  /// converged: the last time was reached. diverged: a batch had an infinite loss, or one 1e6 times that of
  /// the first batch (polynomial activations, docs/theory section 10.3). interrupted: stopped by the token.
  Outcome outcome = Outcome::converged;
};

/// P at the start of a run with K heads, d x columns: a function of (options, seed).
Matrix online_start(const OnlineSgdOptions& options, int dimension, int heads, std::uint64_t seed);

/// p = round(kappa d), at least 1.
int online_width(const OnlineSgdOptions& options, int dimension);

/// Trains a student of `model` on labels of `teachers`, K0 symmetric d x d matrices, from the start that
/// `seed` draws.
///
/// Per step: X P and X^T M, 4 B T d columns flops (columns = K p, K d or 2 K p), and the teacher's scores
/// through signed factors of its nonzero modes. A batch is cut into chunks that do not depend on the number
/// of threads and are reduced in order.
///
/// Throws InvalidParameter for a model or options outside their domain and for teachers that are not
/// symmetric, of one size, and K0 many; ResourceError when it would not fit in memory.
OnlineRun online_sgd(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                     const OnlineSgdOptions& options, std::uint64_t seed);

/// Runs of the seeds first_seed, first_seed + 1, ..., in that order, each with the teachers that belong to
/// its seed; side by side with one thread each where there are several. Throws like online_sgd().
std::vector<OnlineRun> online_sgd_runs(const AttentionIndexedModel& model,
                                       const std::function<std::vector<Matrix>(std::uint64_t seed)>& teachers,
                                       const OnlineSgdOptions& options, std::uint64_t first_seed, int seeds);

std::string to_string(DirectStart start);
DirectStart parse_direct_start(const std::string& name);

}  // namespace qklab::lab
