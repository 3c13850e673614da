#pragma once

#include <cstdint>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/matrix/matrix.hpp"
#include "qklab/lab/matrix/precision.hpp"

namespace qklab::lab {

/// One number for the symmetric and one for the antisymmetric part of S. The second is 0 but for untied
/// students of several tokens: other data see the symmetric part alone (docs/theory sections 1.3 and 8).
struct Sectors {
  double symmetric = 0;
  double antisymmetric = 0;
};

/// Whose fixed point is looked for: the minimiser of the empirical risk, or the posterior mean of S0.
enum class AmpEstimator { erm, bayes };

struct AmpOptions {
  AmpEstimator estimator = AmpEstimator::erm;
  Precision precision = Precision::f64;
  /// Converged when S and V change by less than this, relative to themselves, in a step; a V below
  /// tolerance^2 Q0 moves nothing. In f32, where rounding leaves about 1e-6, it is 5e-6 at least.
  double tolerance = 1e-9;
  int max_iterations = 1000;
  double damping = 0;  ///< at least, in [0, 1): the share of the last residuals that is kept
  /// More damping once the change of S does not fall any more. The posterior mean starts at one half
  /// (docs/theory section 5.5).
  bool damp_when_needed = true;
  long test_samples = 20000;    ///< fresh samples for the measured test error of the last iterate
  long iterate_samples = 0;     ///< fresh samples for the test error of every iterate; 0: not measured
  ProgressCallback progress{};  ///< stages "data" and "message passing", the latter in iterations
  StopToken stop{};
};

/// Throws InvalidParameter when an option is out of range.
AmpOptions checked(AmpOptions options);

/// The iterate S^t and what the data answer to it (docs/theory section 9.1): (m, q, V) of S^t, then the
/// conjugates that it makes, which make S^(t+1). At high dimension, without damping, these are the iterates
/// of the state evolution from the same start.
struct AmpIteration {
  int iteration = 0;           ///< t
  double overlap = 0;          ///< m = Tr(S S0)/d
  Sectors self_overlap;        ///< q = Tr(S^2)/d; of S_s and S_a
  Sectors susceptibility;      ///< V
  double overlap_hat = 0;      ///< mhat, estimated as Tr(R S0)/Tr(S0^2)
  Sectors self_overlap_hat;    ///< qhat
  Sectors susceptibility_hat;  ///< Vhat
  /// (1/d^2) sum of losses at the proximal points; at S where it converged. NaN for the posterior mean.
  double train_loss = 0;
  double squared_error = 0;  ///< Tr((S - S0)(S - S0)^T)/d, which keeps its digits near recovery
  /// |S^(t+1) - S^t|_F/|S^(t+1)|_F over 1 - damping, so that no damping makes it small.
  double residual = 0;
  double damping = 0;      ///< share of the last residuals kept in this iteration (docs/theory section 9.4)
  double competing = 0;    ///< fraction of proximal problems with several minima
  double unconverged = 0;  ///< fraction of proximal problems that did not reach their tolerance
  Estimate test_error{};   ///< of S^t, where asked for
};

/// The way of message passing on one data set, and where it ended.
struct AmpTrajectory {
  std::vector<AmpIteration> iterations;
  Matrix student;          ///< the last S, d x d
  Sectors susceptibility;  ///< its V
  Outcome outcome = Outcome::stagnated;
};

/// Message passing whose fixed points are the minimisers of (1.4) over S (docs/theory section 9): tied
/// students of any width, direct ones, and untied ones of full width. From S = 0 and V = Q0, a start that
/// knows nothing of the teacher but Q0: (m, q, V) = (0, 0, Q0).
///
/// Or message passing to the posterior mean of S0 (docs/theory section 5.5), from the same start: it knows
/// kappa0 and the noise, and has no student, so that width, parametrization and weight decay play no part.
///
/// The teacher is only measured against. One pass over the data and one eigenproblem an iteration; bitwise
/// the same for any number of threads. For the task seq2seq the loss is that of the labels R C^-1 on the
/// attention matrix, the limit of high dimension (section 1.2).
///
/// Throws InvalidParameter for a problem that is not in require_message_passing()'s domain.
template <class Real>
AmpTrajectory iterate_amp(const Dataset<Real>& data, const Problem& given, const Matrix& teacher,
                          const AmpOptions& options);

/// What one run of message passing measured; every random choice is a function of `seed`.
struct AmpRun {
  Problem problem;
  std::uint64_t seed = 0;
  std::vector<AmpIteration> iterations;
  Outcome outcome = Outcome::stagnated;
  double largest_damping = 0;    ///< 0: none was needed
  double overlap = 0;            ///< of the last S: Tr(S S0)/d
  Sectors self_overlap;          ///< Tr(S_s^2)/d and Tr(S_a S_a^T)/d
  Sectors susceptibility;        ///< V
  std::vector<double> spectrum;  ///< eigenvalues of S (untied, several tokens: singular values), ascending
  double zero_fraction = 0;      ///< share of the spectrum below 1e-3 of the largest
  Estimate test_error;           ///< on fresh samples
  double train_loss = 0;         ///< that of the last iteration
  double squared_error = 0;      ///< Tr((S - S0)(S - S0)^T)/d
  double seconds = 0;
};

/// Draws teacher and data from `seed`, the same as run() of qklab/lab/training/train.hpp, passes messages,
/// measures. Stopped before the data were drawn, nothing is measured: no iterations, and NaN for every
/// number.
///
/// Throws like require_message_passing(), and ResourceError like run().
AmpRun run_amp(const Problem& problem, const AmpOptions& options, std::uint64_t seed);

/// Throws InvalidParameter for a problem outside its domain and for one that message passing does not take:
/// what require_trainable() refuses, and untied students of a width that binds (kappa < 1) or of several
/// tokens; for the posterior mean, teachers other than Wishart and labels whose posterior is not known
/// (qklab/channel/bayes/bayes_residual.hpp).
void require_message_passing(const Problem& problem, AmpEstimator estimator = AmpEstimator::erm);

/// Bytes that message passing holds beside the data.
double message_passing_bytes(const Problem& problem, int bytes_per_real, int threads);

}  // namespace qklab::lab
