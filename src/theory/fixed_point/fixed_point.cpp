#include "qklab/theory/fixed_point/fixed_point.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <unsupported/Eigen/NonLinearOptimization>

namespace qklab::theory {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Counts evaluations and remembers the point of smallest residual.
class Evaluator {
 public:
  Evaluator(const FixedPointMap& map, const FixedPointOptions& options) : map_(map), options_(options) {}

  /// F(x) - x, or nothing where F is undefined or not finite.
  std::optional<Eigen::VectorXd> difference(const Eigen::VectorXd& x) {
    ++best_.evaluations;
    std::optional<Eigen::VectorXd> value = map_(x);
    if (!value || !value->allFinite()) return std::nullopt;
    *value -= x;
    const double residual = value->lpNorm<Eigen::Infinity>();
    if (best_.x.size() == 0 || residual < best_.residual) {
      best_.x = x;
      best_.residual = residual;
    }
    return value;
  }

  bool converged() const { return best_.x.size() > 0 && best_.residual <= options_.tolerance; }
  bool exhausted() const {
    return best_.evaluations >= options_.max_evaluations || options_.stop.requested();
  }
  double best_residual() const { return best_.x.size() > 0 ? best_.residual : infinite; }
  const Eigen::VectorXd& best_point() const { return best_.x; }

  FixedPoint report(const Eigen::VectorXd& start) const {
    FixedPoint result = best_;
    if (result.x.size() == 0) {
      result.x = start;
      result.residual = infinite;
      result.outcome = Outcome::diverged;
    } else if (converged()) {
      result.outcome = Outcome::converged;
    } else if (options_.stop.requested()) {
      result.outcome = Outcome::interrupted;
    } else {
      result.outcome = exhausted() ? Outcome::iteration_limit : Outcome::stagnated;
    }
    return result;
  }

 private:
  const FixedPointMap& map_;
  const FixedPointOptions& options_;
  FixedPoint best_;
};

/// The last few differences of iterates and residuals, and the step they suggest.
class AndersonHistory {
 public:
  explicit AndersonHistory(int depth) : depth_(depth) {}

  void push(const Eigen::VectorXd& x, const Eigen::VectorXd& f) {
    if (last_x_.size() > 0) {
      steps_.emplace_back(x - last_x_);
      changes_.emplace_back(f - last_f_);
      if (std::ssize(steps_) > depth_) {
        steps_.pop_front();
        changes_.pop_front();
      }
    }
    last_x_ = x;
    last_f_ = f;
  }

  /// Type II: the combination of past residuals of least norm decides the step.
  Eigen::VectorXd step(double mixing) const {
    const auto columns = static_cast<Eigen::Index>(steps_.size());
    if (columns == 0) return mixing * last_f_;
    Eigen::MatrixXd dx(last_x_.size(), columns);
    Eigen::MatrixXd df(last_x_.size(), columns);
    for (Eigen::Index j = 0; j < columns; ++j) {
      dx.col(j) = steps_[j];
      df.col(j) = changes_[j];
    }
    // Relative regularisation keeps the coefficients bounded when differences become parallel.
    Eigen::MatrixXd normal = df.transpose() * df;
    normal.diagonal().array() += 1e-14 * normal.trace();
    const Eigen::VectorXd weights = normal.ldlt().solve(df.transpose() * last_f_);
    return mixing * last_f_ - (dx + mixing * df) * weights;
  }

  void clear() {
    steps_.clear();
    changes_.clear();
    last_x_.resize(0);
  }

 private:
  int depth_;
  std::deque<Eigen::VectorXd> steps_;
  std::deque<Eigen::VectorXd> changes_;
  Eigen::VectorXd last_x_;
  Eigen::VectorXd last_f_;
};

Eigen::VectorXd limited(const Eigen::VectorXd& step, double max_step) {
  const double longest = step.lpNorm<Eigen::Infinity>();
  if (!std::isfinite(longest)) return Eigen::VectorXd::Zero(step.size());
  return step * std::min(1.0, max_step / longest);
}

void accelerate(Evaluator& evaluator, const Eigen::VectorXd& start, const FixedPointOptions& options) {
  constexpr double allowed_growth = 3;
  constexpr int patience = 40;
  AndersonHistory history(options.depth);
  Eigen::VectorXd x = start;
  std::optional<Eigen::VectorXd> f = evaluator.difference(x);
  if (!f) return;
  double mixing = 1;
  double stall_reference = infinite;
  int since_progress = 0;
  while (!evaluator.converged() && !evaluator.exhausted() && mixing > 1e-3 && since_progress < patience) {
    history.push(x, *f);
    const Eigen::VectorXd candidate = x + limited(history.step(mixing), options.max_step);
    std::optional<Eigen::VectorXd> next = evaluator.difference(candidate);
    const double residual = next ? next->lpNorm<Eigen::Infinity>() : infinite;
    if (residual <= allowed_growth * evaluator.best_residual()) {
      x = candidate;
      f = std::move(next);
      mixing = std::min(1.0, 1.5 * mixing);
    } else {
      history.clear();
      mixing *= 0.5;
      x = evaluator.best_point();
      f = evaluator.difference(x);
    }
    const bool progress = evaluator.best_residual() < 0.5 * stall_reference;
    since_progress = progress ? 0 : since_progress + 1;
    if (progress) stall_reference = evaluator.best_residual();
  }
}

/// F(x) - x in the form that Eigen's MINPACK translation calls.
struct HybridProblem {
  Evaluator& evaluator;

  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& f) const {
    if (evaluator.exhausted()) return -1;
    const std::optional<Eigen::VectorXd> difference = evaluator.difference(x);
    // A large constant makes the trust region shrink where the map is undefined.
    f = difference ? *difference : Eigen::VectorXd::Constant(x.size(), 1e3);
    return 0;
  }
};

void hybridise(Evaluator& evaluator, const FixedPointOptions& options) {
  HybridProblem problem{evaluator};
  Eigen::HybridNonLinearSolver<HybridProblem> solver(problem);
  solver.parameters.xtol = 1e-15;
  solver.parameters.maxfev = options.max_evaluations;
  solver.parameters.factor = 1;
  Eigen::VectorXd x = evaluator.best_point();
  solver.solveNumericalDiff(x);
}

}  // namespace

FixedPoint solve_fixed_point(const FixedPointMap& map, const Eigen::VectorXd& start,
                             const FixedPointOptions& options) {
  Evaluator evaluator(map, options);
  accelerate(evaluator, start, options);
  const bool defined = evaluator.best_point().size() > 0;
  if (defined && !evaluator.converged() && !evaluator.exhausted()) hybridise(evaluator, options);
  return evaluator.report(start);
}

FixedPoint refine_fixed_point(const FixedPointMap& map, const Eigen::VectorXd& start,
                              const Eigen::MatrixXd& jacobian_estimate, const FixedPointOptions& options) {
  Evaluator evaluator(map, options);
  Eigen::VectorXd x = start;
  std::optional<Eigen::VectorXd> f = evaluator.difference(x);
  // Inverse of the Jacobian of F(x) - x, updated by Broyden's good formula.
  Eigen::MatrixXd inverse =
      (jacobian_estimate - Eigen::MatrixXd::Identity(start.size(), start.size())).inverse();
  double previous = infinite;
  while (f && !evaluator.converged() && !evaluator.exhausted() &&
         evaluator.best_residual() < 0.7 * previous) {
    previous = evaluator.best_residual();
    const Eigen::VectorXd step = limited(-inverse * *f, options.max_step);
    x += step;
    std::optional<Eigen::VectorXd> next = evaluator.difference(x);
    if (!next) break;
    const Eigen::VectorXd image = inverse * (*next - *f);
    const double scale = step.dot(image);
    if (std::abs(scale) > 1e-12 * step.squaredNorm()) {
      inverse += (step - image) * (step.transpose() * inverse) / scale;
    }
    f = std::move(next);
  }
  return evaluator.report(start);
}

std::optional<Eigen::MatrixXd> jacobian(const FixedPointMap& map, const Eigen::VectorXd& x,
                                        const Eigen::VectorXd& value, double step) {
  Eigen::MatrixXd result(value.size(), x.size());
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    Eigen::VectorXd shifted = x;
    shifted[k] += step;
    const std::optional<Eigen::VectorXd> shifted_value = map(shifted);
    if (!shifted_value) return std::nullopt;
    result.col(k) = (*shifted_value - value) / step;
  }
  return result;
}

}  // namespace qklab::theory
