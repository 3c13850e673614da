#include "qklab/core/outcome.hpp"

namespace qklab {

std::string_view describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::converged:
      return "converged";
    case Outcome::zero_solution:
      return "zero solution";
    case Outcome::stagnated:
      return "stagnated";
    case Outcome::iteration_limit:
      return "iteration limit";
    case Outcome::diverged:
      return "diverged";
    case Outcome::interrupted:
      return "interrupted";
  }
  return "unknown";
}

}  // namespace qklab
