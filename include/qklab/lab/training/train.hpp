#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/data/trainable.hpp"
#include "qklab/lab/matrix/precision.hpp"

namespace qklab::lab {

/// amp: message passing to its fixed point, then L-BFGS (docs/theory section 9.5). automatic: amp or lbfgs,
/// whichever the theory of the problem recommends; who knows the theory decides, and run() does not take it.
enum class Optimizer { lbfgs, adam, gradient_descent, amp, automatic };

std::string to_string(Optimizer optimizer);
Optimizer parse_optimizer(const std::string& name);
/// "auto" for no value.
std::string to_string(std::optional<TokenStorage> storage);
std::optional<TokenStorage> parse_storage(const std::string& name);

struct TrainOptions {
  Optimizer optimizer = Optimizer::lbfgs;
  Precision precision = Precision::f64;
  /// Stop when |grad L|_F max(|P0|_F, |P|_F) <= tolerance * L(0), P the parameters
  /// (lab/student/parameters.hpp), P0 their random start: the test stays as strict when the loss, the teacher
  /// or d are scaled. In f32 the rounding of the gradient is near 5e-6 on this scale.
  double gradient_tolerance = 1e-5;
  int max_epochs = 5000;        ///< passes over the data; a message passing iteration is one
  double learning_rate = 0.05;  ///< first step, relative to the size of P; Adam and gradient descent only
  long test_samples = 20000;    ///< fresh samples for the measured test error
  /// What becomes of the tokens; without a value they are stored where that fits in the memory, else
  /// regenerated. The numbers of a run are bitwise the same.
  std::optional<TokenStorage> storage{};
  double memory = 0;  ///< bytes that may be held at once; 0: what is available when a run begins
  /// That share the passes over the data. Every one of them runs the same; `stop` must be requested on all at
  /// the same sum over ranks.
  Ranks ranks{};
  ProgressCallback progress{};
  StopToken stop{};
};

/// Throws InvalidParameter when an option is out of range.
TrainOptions checked(TrainOptions options);

/// What becomes of the tokens in a run, and the bytes that it holds at its peak.
struct MemoryNeed {
  TokenStorage storage = TokenStorage::stored;
  double bytes = 0;
};

/// What one trained run measured. Every random choice is a function of `seed`.
///
/// An untied S = S_s + S_a has a symmetric and an antisymmetric part; eigenvalues, eigenvectors and
/// self_overlap are those of S_s. For tied and direct students S_s = S. With one token S_a and the singular
/// values depend on the start (docs/theory section 1.3).
struct TrainedRun {
  Problem problem;
  std::uint64_t seed = 0;
  Estimate test_error;  ///< on fresh samples, with its standard error
  double train_loss =
      0;  ///< (1/d^2) sum of losses; seq2seq: on the span of the tokens (lab/data/dataset.hpp)
  double regularization =
      0;                    ///< the penalty: (lambda/d) |W|_F^2, (lambda/d) |S|_F^2, (lambda/2d) |[U V]|_F^2
  double overlap = 0;       ///< Tr(S S0)/d
  double self_overlap = 0;  ///< Tr(S_s^2)/d
  double antisymmetric_self_overlap = 0;  ///< Tr(S_a S_a^T)/d, S_a = (S - S^T)/2; 0 unless untied
  /// Share of the eigenvalues of S (untied: singular values) below 1e-3 of the largest, in absolute value.
  double zero_fraction = 0;
  std::vector<double> eigenvalues;          ///< of S_s, ascending, d of them
  std::vector<double> singular_values;      ///< of S, ascending, d of them; untied only, else empty
  std::vector<double> teacher_eigenvalues;  ///< of S0, ascending, d of them
  /// (u_i . v_i)^2, u_i and v_i the i-th eigenvectors (ascending) of S0 and of S_s. Within an eigenspace of
  /// more than one dimension (the null space, say) the basis is LAPACK's choice.
  std::vector<double> alignments;
  std::vector<double> teacher_levels;  ///< v_i^T S0 v_i, v_i the i-th eigenvector of S_s
  long epochs = 0;
  long message_passes = 0;  ///< those of the epochs that were iterations of message passing
  Optimizer optimizer = Optimizer::lbfgs;
  double gradient_norm = 0;  ///< |grad L|_F at the returned point
  double seconds = 0;
  MemoryNeed memory;
  Outcome outcome = Outcome::stagnated;
};

/// require_trainable() (qklab/lab/data/trainable.hpp) for a given optimizer: amp takes what
/// require_message_passing() takes (qklab/lab/message_passing/amp.hpp), and automatic is none.
void require_trainable(const Problem& problem, Optimizer optimizer);

/// Draws teacher and data from `seed`, trains from a random start (lab/student/parameters.hpp), measures. On
/// one machine the numbers are bitwise the same for any number of threads. When stopped by the token the best
/// point so far is measured and the outcome is `interrupted`; stopped before the data were drawn, nothing is
/// measured: epochs = 0 and every number is NaN.
///
/// Throws like require_trainable() and memory_need().
TrainedRun run(const Problem& problem, const TrainOptions& options, std::uint64_t seed);

/// What `run` will hold: data set, objective, optimiser, measurements and the program itself. The tokens are
/// as in the options. Throws ResourceError, with the numbers, for more than the options allow.
MemoryNeed memory_need(const Problem& problem, const TrainOptions& options);

/// Bytes that `run` will hold at its peak.
double memory_estimate(const Problem& problem, const TrainOptions& options, TokenStorage storage);

}  // namespace qklab::lab
