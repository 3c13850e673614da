#include <algorithm>
#include <cmath>

#include "descent_log.hpp"

namespace qklab::lab {

Descent minimize_gradient_descent(const DifferentiableFunction& function, std::span<const double> start,
                                  const DescentOptions& options) {
  constexpr double sufficient_decrease = 1e-4;
  constexpr double growth = 1.25;
  constexpr double rounding = 1e-16;

  DescentLog log(function, options);
  std::vector<double> point(start.begin(), start.end());
  std::vector<double> gradient(start.size());
  std::vector<double> trial(start.size());
  std::vector<double> trial_gradient(start.size());
  double value = log.evaluate(point, gradient);
  if (!log.has_finite_value()) return log.finish(Outcome::diverged);
  double slope = norm(gradient);
  double step = options.learning_rate * std::max(options.length_scale, norm(point)) / slope;
  while (!log.ended() && step * slope > rounding * norm(point)) {
    for (std::size_t i = 0; i < point.size(); ++i) trial[i] = point[i] - step * gradient[i];
    const double trial_value = log.evaluate(trial, trial_gradient);
    const double change =
        difference({point, gradient, value}, {trial, trial_gradient, trial_value}, options.value_rounding);
    if (change <= -sufficient_decrease * step * slope * slope) {
      point.swap(trial);
      gradient.swap(trial_gradient);
      value = trial_value;
      slope = norm(gradient);
      step *= growth;
    } else {
      step /= 2;
    }
  }
  return log.finish(Outcome::stagnated);
}

}  // namespace qklab::lab
