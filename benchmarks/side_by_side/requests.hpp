#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "qklab/core/problem.hpp"

namespace qklab::side_by_side {

using Json = nlohmann::json;

/// Wall-clock seconds of a call.
template <class Call>
double seconds(Call&& call) {
  const auto begin = std::chrono::steady_clock::now();
  std::forward<Call>(call)();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The problem that a request states, in the names of the command's options; the rest as by default.
Problem problem_of(const Json& request);

/// Seconds of `repeats` products of two size x size matrices, as OpenBLAS does them on all `threads`.
Json gemm(const Json& request);

/// Solves the state evolution `repeats` times from a cold start; seconds of each, and what it found.
Json theory(const Json& request);

class TrainingData;

/// The data set that training is timed on.
class TrainingSide {
 public:
  TrainingSide();
  ~TrainingSide();

  /// Draws teacher, data and start of a seed in a precision (f32, f64), and holds them.
  Json draw(const Json& request);
  /// Writes them into `folder`: inputs (n T rows of d, in the precision), labels (T T rows of n, float64) and
  /// start (d rows of p, float64).
  Json write(const Json& request) const;
  /// The objective and the norm of its gradient at `scale` times the start.
  Json value(const Json& request);
  /// Seconds of `repeats` evaluations of objective and gradient at the start.
  Json step(const Json& request);
  /// Minimises with an `optimizer` from the start: (seconds, value) after each pass over the data.
  Json descend(const Json& request);
  /// Seconds of at most `iterations` of message passing from S = 0, and the objective at the last S.
  Json amp(const Json& request);

 private:
  std::unique_ptr<TrainingData> data_;
};

}  // namespace qklab::side_by_side
