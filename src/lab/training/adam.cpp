#include <cmath>

#include "descent_log.hpp"

namespace qklab::lab {

Descent minimize_adam(const DifferentiableFunction& function, std::span<const double> start,
                      const DescentOptions& options) {
  constexpr double mean_decay = 0.9;
  constexpr double square_decay = 0.999;
  constexpr long patience = 50;
  constexpr double smallest_rate = 1e-12;

  DescentLog log(function, options);
  const std::size_t size = start.size();
  std::vector<double> point(start.begin(), start.end());
  std::vector<double> gradient(size);
  std::vector<double> mean(size, 0.0);
  std::vector<double> square(size, 0.0);
  const double unit = options.length_scale / std::sqrt(static_cast<double>(size));
  double rate = options.learning_rate;
  double floor = 0;
  double mean_weight = 1;
  double square_weight = 1;
  long waited = 0;
  while (rate > smallest_rate * options.learning_rate) {
    if (!std::isfinite(log.evaluate(point, gradient)) && !log.ended()) return log.finish(Outcome::diverged);
    if (log.ended()) break;
    // A scale of the gradient itself, so that f may be multiplied by any constant.
    if (floor == 0) floor = 1e-8 * norm(gradient) / std::sqrt(static_cast<double>(size));
    mean_weight *= mean_decay;
    square_weight *= square_decay;
    const double step = rate * unit / (1 - mean_weight);
    for (std::size_t i = 0; i < size; ++i) {
      mean[i] = mean_decay * mean[i] + (1 - mean_decay) * gradient[i];
      square[i] = square_decay * square[i] + (1 - square_decay) * gradient[i] * gradient[i];
      point[i] -= step * mean[i] / (std::sqrt(square[i] / (1 - square_weight)) + floor);
    }
    waited = log.epochs_without_descent() == 0 ? 0 : waited + 1;
    if (waited > patience) {
      rate /= 2;
      waited = 0;
    }
  }
  return log.finish(Outcome::stagnated);
}

}  // namespace qklab::lab
