#pragma once

#include <string_view>

namespace qklab {

/// How an iteration ended. Only `converged` and `zero_solution` are answers.
enum class Outcome {
  converged,        ///< the residual (or gradient) is below its tolerance
  zero_solution,    ///< the weight decay is so large that the minimiser is S = 0
  stagnated,        ///< no further progress, the residual is above its tolerance
  iteration_limit,  ///< the budget of iterations ran out
  diverged,         ///< values left the domain (NaN, overflow)
  interrupted,      ///< stopped by the user
};

/// True for outcomes whose values may be used as an answer.
constexpr bool is_answer(Outcome outcome) {
  return outcome == Outcome::converged || outcome == Outcome::zero_solution;
}

/// The outcome in words, for reports: "converged", "zero solution", ...
std::string_view describe(Outcome outcome);

}  // namespace qklab
