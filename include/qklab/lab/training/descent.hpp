#pragma once

#include <functional>
#include <span>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/progress.hpp"

namespace qklab::lab {

/// A function of a vector that writes its gradient and returns its value.
using DifferentiableFunction =
    std::function<double(std::span<const double> point, std::span<double> gradient)>;

/// When and how a descent ends; every optimiser takes the same options.
///
/// Converged means |grad f| max(length_scale, |x|) <= gradient_tolerance * value_scale. The left side is the
/// change of f when x moves by its own length along the gradient: the test keeps its meaning when f or x are
/// rescaled.
///
/// Line searches need f(x') - f(x). Where the two agree to value_rounding, the difference is taken from the
/// gradients by the trapezoidal rule, (g + g') . (x' - x)/2: gradients keep their digits long after
/// differences of f lost them.
struct DescentOptions {
  double gradient_tolerance = 1e-5;
  double length_scale = 1;        ///< a typical |x|, > 0
  double value_scale = 1;         ///< a typical f, > 0
  double value_rounding = 1e-14;  ///< relative rounding error of f
  long max_epochs = 5000;         ///< evaluations of f and its gradient
  double learning_rate = 0.05;    ///< relative to length_scale, see the optimisers that use it
  ProgressCallback progress;      ///< stage "training", in epochs
  StopToken stop;
};

/// How far a descent came. `point` is the converged point, or else the lowest one seen.
struct Descent {
  std::vector<double> point;
  double value = 0;
  double gradient_norm = 0;
  long epochs = 0;
  Outcome outcome = Outcome::stagnated;
};

/// Limited-memory BFGS with the More-Thuente line search (liblbfgs; Nocedal and Wright, section 7.2), 20
/// corrections.
///
/// A failed line search restarts the method at the lowest point; a second failure without progress in between
/// means that rounding hides any further descent: stagnated.
Descent minimize_lbfgs(const DifferentiableFunction& function, std::span<const double> start,
                       const DescentOptions& options);

/// Vectors of the size of x that minimize_lbfgs holds, its result included.
inline constexpr int lbfgs_vectors = 49;
/// The same for the other two.
inline constexpr int first_order_vectors = 5;

/// Adam with bias correction (Kingma and Ba, arXiv 1412.6980; decay rates 0.9 and 0.999) on the full
/// gradient.
///
/// A step is at most about learning_rate * length_scale/sqrt(size) per coordinate, halved whenever 50 epochs
/// pass without a new lowest value; stagnated once halving has made the steps too small to matter.
Descent minimize_adam(const DifferentiableFunction& function, std::span<const double> start,
                      const DescentOptions& options);

/// Gradient descent with Armijo backtracking: the step grows by a quarter after a success and halves after a
/// failure. The first step moves x by learning_rate * max(length_scale, |x|). Stagnated when no step along
/// the gradient lowers f.
Descent minimize_gradient_descent(const DifferentiableFunction& function, std::span<const double> start,
                                  const DescentOptions& options);

}  // namespace qklab::lab
