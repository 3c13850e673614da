#include "descent_log.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qklab::lab {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

DescentLog::DescentLog(const DifferentiableFunction& function, const DescentOptions& options)
    : function_(function), options_(options), smallest_gradient_norm_(infinity) {
  result_.value = infinity;
  result_.gradient_norm = infinity;
}

double DescentLog::evaluate(std::span<const double> point, std::span<double> gradient) {
  if (ended_) return infinity;
  const double value = function_(point, gradient);
  const double gradient_norm = norm(gradient);
  const long epoch = ++result_.epochs;
  if (options_.progress) {
    options_.progress({"training", static_cast<double>(epoch), static_cast<double>(options_.max_epochs)});
  }
  if (options_.stop.requested()) end(Outcome::interrupted);
  if (epoch >= options_.max_epochs) end(Outcome::iteration_limit);
  if (result_.point.empty()) result_.point.assign(point.begin(), point.end());
  if (!std::isfinite(value) || !std::isfinite(gradient_norm)) return infinity;

  if (gradient_norm < smallest_gradient_norm_) {
    smallest_gradient_norm_ = gradient_norm;
    last_progress_ = epoch;
  }
  if (value < result_.value) {
    last_progress_ = last_descent_ = epoch;
    keep(point, value, gradient_norm);
  }
  if (gradient_norm * std::max(options_.length_scale, norm(point)) <=
      options_.gradient_tolerance * options_.value_scale) {
    keep(point, value, gradient_norm);
    end(Outcome::converged);
  }
  return value;
}

bool DescentLog::has_finite_value() const {
  return std::isfinite(result_.value);
}

Descent DescentLog::finish(Outcome outcome) {
  if (!ended_) end(outcome);
  return std::move(result_);
}

void DescentLog::keep(std::span<const double> point, double value, double gradient_norm) {
  result_.point.assign(point.begin(), point.end());
  result_.value = value;
  result_.gradient_norm = gradient_norm;
}

void DescentLog::end(Outcome outcome) {
  ended_ = true;
  result_.outcome = outcome;
}

double difference(const Evaluated& from, const Evaluated& to, double rounding) {
  const double plain = to.value - from.value;
  if (!(std::abs(plain) <= rounding * std::abs(from.value))) return plain;
  double trapezoid = 0;
  for (std::size_t i = 0; i < to.point.size(); ++i) {
    trapezoid += (from.gradient[i] + to.gradient[i]) / 2 * (to.point[i] - from.point[i]);
  }
  return trapezoid;
}

double norm(std::span<const double> vector) {
  double sum = 0;
  for (double x : vector) sum += x * x;
  return std::sqrt(sum);
}

}  // namespace qklab::lab
