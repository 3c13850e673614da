#include "tied_equivalent.hpp"

#include <cmath>
#include <utility>

namespace qklab::dynamics {

TiedEquivalent::TiedEquivalent(Eigen::ArrayXd teacher, Eigen::ArrayXd masses, double entry_variance,
                               double width_ratio)
    : teacher_(std::move(teacher)),
      masses_(std::move(masses)),
      entry_variance_(entry_variance),
      width_ratio_(width_ratio),
      log_capacity_(std::log(entry_variance * width_ratio)) {}

/// f(kappa) = kappa + c <u/(1 + u)> - c p/d is concave with f(0) < 0 wherever all 1 + u > 0, so that Newton's
/// steps never pass the root from the left and land left of it from the right.
bool TiedEquivalent::solve(const Eigen::ArrayXd& log_square, const Eigen::ArrayXd& restraint) {
  constexpr int max_steps = 400;
  constexpr double digits = 4e-15;
  constexpr double largest = 690;  // beyond it only 1/G is left of the profile
  if (!log_square.allFinite() || !restraint.allFinite()) return false;
  const double full = entry_variance_ * width_ratio_;
  double log_kappa = log_capacity_;
  for (int step = 0; step < max_steps; ++step) {
    growth_ = (log_kappa + log_square).min(largest).exp();
    load_ = 1 + growth_ * restraint;
    const double kappa = std::exp(log_kappa);
    const double value = kappa + entry_variance_ * (masses_ * (1 - 1 / load_)).sum() - full;
    const double slope = kappa + softness();  // kappa f'
    if (!(load_.minCoeff() > 0) || !(slope > 0)) {
      log_kappa -= 0.7;
      continue;
    }
    const double change = -value / slope;
    // Between far apart growths f is so flat that rounding hides the root, and kappa matters as little.
    if (std::abs(change) <= digits || std::abs(value) <= 0.5 * digits * full) {
      log_capacity_ = log_kappa;
      profile_ = growth_ / load_;
      return true;
    }
    log_kappa += change > -0.9 ? std::log1p(change) : -2.3;
  }
  return false;
}

double TiedEquivalent::softness() const {
  return entry_variance_ * (masses_ * (1 - 1 / load_) / load_).sum();
}

Eigen::ArrayXd TiedEquivalent::response(const Eigen::ArrayXd& restraint) const {
  const double log_capacity_change =
      -entry_variance_ * (masses_ * profile_ * restraint / load_).sum() / (capacity() + softness());
  return profile_ * (log_capacity_change / load_ - profile_ * restraint);
}

}  // namespace qklab::dynamics
