#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/core/standard_error.hpp"

namespace qklab::lab {

enum class Optimizer { lbfgs, adam, gradient_descent };
enum class Precision { f32, f64 };

std::string to_string(Optimizer optimizer);
std::string to_string(Precision precision);
Optimizer parse_optimizer(const std::string& name);
Precision parse_precision(const std::string& name);

struct TrainOptions {
  Optimizer optimizer = Optimizer::lbfgs;
  Precision precision = Precision::f64;
  /// Stop when |grad L|_F max(|W0|_F, |W|_F) <= tolerance * L(0), W0 the random start: the test stays as
  /// strict when the loss, the teacher or d are scaled. In f32 the rounding of the gradient is near 5e-6 on
  /// this scale.
  double gradient_tolerance = 1e-5;
  int max_epochs = 5000;        ///< passes over the data
  double learning_rate = 0.05;  ///< first step, relative to the size of W; Adam and gradient descent only
  long test_samples = 20000;    ///< fresh samples for the measured test error
  ProgressCallback progress{};
  StopToken stop{};
};

/// Throws InvalidParameter when an option is out of range.
TrainOptions checked(TrainOptions options);

/// What one trained run measured. Every random choice is a function of `seed`.
struct TrainedRun {
  Problem problem;
  std::uint64_t seed = 0;
  Estimate test_error;        ///< on fresh samples, with its standard error
  double train_loss = 0;      ///< (1/d^2) sum of losses; seq2seq: on the span of the tokens (lab/dataset.hpp)
  double regularization = 0;  ///< (lambda/d) |W|_F^2
  double overlap = 0;         ///< Tr(S S0)/d
  double self_overlap = 0;    ///< Tr(S^2)/d
  double zero_fraction = 0;   ///< eigenvalues of S below 1e-3 of the largest
  std::vector<double> eigenvalues;  ///< of S, ascending, d of them
  long epochs = 0;
  double gradient_norm = 0;  ///< |grad L|_F at the returned point
  double seconds = 0;
  Outcome outcome = Outcome::stagnated;
};

/// Draws teacher and data from `seed`, trains from a random start (W iid Gaussian, E Tr(S^2)/d = Q0 of the
/// teacher), measures. On one machine the numbers are bitwise the same for any number of threads. When
/// stopped by the token the best point so far is measured and the outcome is `interrupted`.
///
/// Throws InvalidParameter for a problem outside the domain (or one the lab cannot train), ResourceError when
/// data and work space would not fit in memory, estimated before anything is allocated.
TrainedRun run(const Problem& problem, const TrainOptions& options, std::uint64_t seed);

/// Bytes that `run` will hold at its peak.
double memory_estimate(const Problem& problem, const TrainOptions& options);

}  // namespace qklab::lab
