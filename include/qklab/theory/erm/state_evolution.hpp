#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/theory/fixed_point/solution.hpp"

namespace qklab::theory {

/// Solves the state evolution of regularised empirical risk minimisation, one problem after another, and
/// keeps its sampling points as long as the channel stays the same: neighbouring problems share their random
/// numbers, so that differences between them are smooth.
///
/// Tied (any width ratio), direct, and untied parametrizations; softmax (T >= 2) and identity (T >= 1).
/// Untied students of several tokens are those of qklab/theory/untied/untied.hpp and take no neighbour.
/// Source: arXiv 2509.24914, docs/theory sections 2-3 and 8.
class StateEvolution {
 public:
  /// Throws InvalidParameter when an option is out of range.
  explicit StateEvolution(const SolveOptions& options = {});
  ~StateEvolution();
  StateEvolution(StateEvolution&&) noexcept;
  StateEvolution& operator=(StateEvolution&&) noexcept;

  /// `neighbour` is a solution nearby; its overlaps are the first iterate where it converged. Throws
  /// InvalidParameter for a problem outside the domain. Non-convergence is reported by `outcome`, never
  /// thrown.
  Solution solve(const Problem& problem, const std::optional<Solution>& neighbour = std::nullopt);

  const SolveOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same for a single point.
Solution solve(const Problem& problem, const SolveOptions& options = {},
               const std::optional<Solution>& neighbour = std::nullopt);

/// Solves a list of points in order, each warm-started by the one before it where that one converged.
std::vector<Solution> solve_sweep(const std::vector<Problem>& problems, const SolveOptions& options = {},
                                  const ProgressCallback& progress = {});

}  // namespace qklab::theory
