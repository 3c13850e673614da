#pragma once

#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/theory/erm/state_evolution.hpp"
#include "qklab/theory/fixed_point/order_parameters.hpp"

namespace qklab::theory {

/// What the state evolution says of one iteration of message passing: the student S^t, and what the channel
/// answers to it.
struct Iterate {
  double overlap = 0;         ///< m = Tr(S S0)/d
  double self_overlap = 0;    ///< q = Tr(S^2)/d
  double susceptibility = 0;  ///< V
  ConjugateParameters hats;   ///< at (m, q, V); they make the next iterate
  Estimate test_error;        ///< E ||sigma(h0) - sigma(h)||_F^2 at (m, q)
};

/// The state evolution as a dynamics: iterates 0, 1, ..., `iterations` of message passing from the given
/// order parameters (docs/theory section 9.3). A student that knows nothing yet, S = 0, has overlap and
/// orthogonal part 0 and any V > 0.
///
/// Tied students of any width ratio, direct ones, and untied ones of one token. Shorter than asked where the
/// map is not defined or a stop is requested. Throws InvalidParameter for a problem outside the domain, for
/// V <= 0, a negative orthogonal part or iterations < 0.
std::vector<Iterate> iterates(const Problem& problem, const OrderParameters& start, int iterations,
                              const SolveOptions& options = {});

/// The same of Bayes-optimal message passing, from a given overlap q (docs/theory section 5.5): iterate by
/// iterate m = q, V = Q0 - q and mhat = Vhat = qhat. An estimate that knows nothing, S = 0, has q = 0; at
/// q = Q0 nothing is left to learn.
///
/// Throws InvalidParameter like solve_bayes() (qklab/theory/bayes/bayes_optimal.hpp), for q outside [0, Q0]
/// or iterations < 0.
std::vector<Iterate> bayes_iterates(const Problem& problem, double overlap, int iterations,
                                    const SolveOptions& options = {});

}  // namespace qklab::theory
