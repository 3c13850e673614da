#pragma once

#include "qklab/lab/training/descent.hpp"

namespace qklab::lab {

/// Evaluates the function for an optimiser, keeps the account of its descent and says when it must end.
class DescentLog {
 public:
  DescentLog(const DifferentiableFunction& function, const DescentOptions& options);

  /// f and its gradient; a value that is not finite comes back as infinity. Once ended() every further call
  /// answers infinity without a pass over the data, so that a line search gives up.
  double evaluate(std::span<const double> point, std::span<double> gradient);

  /// Converged, out of epochs, or interrupted.
  bool ended() const { return ended_; }
  /// False until a finite value has been seen.
  bool has_finite_value() const;
  /// Epochs since the value was last lower, or the gradient last smaller, than ever before.
  long epochs_without_progress() const { return result_.epochs - last_progress_; }
  /// Epochs since the value was last lower than ever before.
  long epochs_without_descent() const { return result_.epochs - last_descent_; }
  const Descent& lowest() const { return result_; }

  /// The descent, with `outcome` when nothing had ended it.
  Descent finish(Outcome outcome);

 private:
  void keep(std::span<const double> point, double value, double gradient_norm);
  void end(Outcome outcome);

  const DifferentiableFunction& function_;
  const DescentOptions& options_;
  Descent result_;
  double smallest_gradient_norm_;
  long last_progress_ = 0;
  long last_descent_ = 0;
  bool ended_ = false;
};

/// A point at which f has been evaluated.
struct Evaluated {
  std::span<const double> point;
  std::span<const double> gradient;
  double value = 0;
};

/// f(to) - f(from), from the gradients when the values agree to the relative error `rounding`.
double difference(const Evaluated& from, const Evaluated& to, double rounding);

double norm(std::span<const double> vector);

}  // namespace qklab::lab
