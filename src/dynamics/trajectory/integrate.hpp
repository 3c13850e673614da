#pragma once

#include <algorithm>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <cmath>
#include <vector>

#include "qklab/core/outcome.hpp"
#include "qklab/core/progress.hpp"

namespace qklab::dynamics {

struct IntegrationOptions {
  double tolerance = 1e-9;  ///< of one step, absolute and relative in every variable
  int max_steps = 100000;
  StopToken stop{};
};

struct Integration {
  Outcome outcome = Outcome::converged;  ///< of the way to the last time
  int steps = 0;
};

/// Throws InvalidParameter unless the times are finite, >= 0 and do not descend.
void require_times(const std::vector<double>& times);

/// Throws InvalidParameter unless tolerance is in (0, 0.1] and max_steps >= 1.
void require_options(const IntegrationOptions& options);

/// Follows dy/dt = system from t = 0 through the times by Dormand-Prince steps with error control (order 5,
/// Boost.Odeint) and calls observe(y, t) at each of them. Ends early, as diverged, where no step is short
/// enough to stay finite.
///
/// system(y, dydt, t) on std::vector<double>.
template <class System, class Observer>
Integration integrate(System&& system, std::vector<double> y, const std::vector<double>& times,
                      const IntegrationOptions& options, Observer&& observe) {
  namespace odeint = boost::numeric::odeint;
  using Stepper = odeint::runge_kutta_dopri5<std::vector<double>>;
  constexpr double first_step = 1e-3;
  constexpr double shortest = 1e-13;
  auto stepper = odeint::make_controlled(options.tolerance, options.tolerance, Stepper());
  const auto is_finite = [](double value) { return std::isfinite(value); };
  Integration way;
  double t = 0;
  double step = first_step;
  for (const double end : times) {
    while (t < end) {
      if (options.stop.requested()) return {Outcome::interrupted, way.steps};
      if (way.steps == options.max_steps) return {Outcome::iteration_limit, way.steps};
      const double left = end - t;
      const bool reaches = step >= left * (1 - 1e-12);
      double tried = reaches ? left : step;
      const std::vector<double> before = y;
      const double t_before = t;
      const bool accepted = stepper.try_step(system, y, t, tried) == odeint::success;
      ++way.steps;
      if (!std::ranges::all_of(y, is_finite) || !std::isfinite(tried)) {
        y = before;
        t = t_before;
        stepper.reset();
        step = 0.25 * std::min(step, left);
      } else if (!accepted) {
        step = tried;
      } else {
        if (reaches) t = end;
        // A step cut at `end` says nothing against longer ones.
        step = reaches ? std::max(step, tried) : tried;
      }
      if (step < shortest) return {Outcome::diverged, way.steps};
    }
    observe(y, t);
  }
  return way;
}

}  // namespace qklab::dynamics
