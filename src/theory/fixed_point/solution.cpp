#include "qklab/theory/fixed_point/solution.hpp"

#include <cmath>

#include "qklab/core/error.hpp"

namespace qklab::theory {

SolveOptions checked(SolveOptions options) {
  options.qmc = qklab::checked(options.qmc);
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance)) {
    throw InvalidParameter("tolerance", options.tolerance, "must be > 0 and finite");
  }
  if (options.max_iterations < 1)
    throw InvalidParameter("max_iterations", options.max_iterations, "must be >= 1");
  return options;
}

}  // namespace qklab::theory
