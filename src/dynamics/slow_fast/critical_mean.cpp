#include "qklab/dynamics/slow_fast/critical_mean.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "dynamics/trajectory/integrate.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Descends in every direction: curvatures count by their size.
VectorXd newton_step(const LossGradient& gradient) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(gradient.mean_curvature);
  const double largest = solver.eigenvalues().cwiseAbs().maxCoeff();
  const VectorXd curvature = solver.eigenvalues().cwiseAbs().cwiseMax(std::max(1e-6 * largest, 1e-300));
  const MatrixXd& axes = solver.eigenvectors();
  return -axes * ((axes.transpose() * gradient.mean).array() / curvature.array()).matrix();
}

}  // namespace

MeanTrajectory fast_phase(const PopulationLoss& loss, const OrderParameters& start, const VectorXd& rates,
                          const std::vector<double>& times) {
  const Index heads = loss.model().heads;
  if (loss.model().centred) {
    throw InvalidParameter("centred", "true", "centred scores have no fast phase");
  }
  if (rates.size() != heads) {
    throw InvalidParameter("rates", static_cast<double>(rates.size()), "must be one for each student");
  }
  OrderParameters at = start;
  const auto evaluate = [&](const std::vector<double>& mean) {
    at.mean.head(heads) = Eigen::Map<const VectorXd>(mean.data(), heads);
    return loss.evaluate(at);
  };
  MeanTrajectory way;
  const auto flow = [&](const std::vector<double>& mean, std::vector<double>& change, double /*t*/) {
    const LossGradient gradient = evaluate(mean);
    Eigen::Map<VectorXd>(change.data(), heads) = -rates.cwiseProduct(gradient.mean);
  };
  const auto observe = [&](const std::vector<double>& mean, double time) {
    const Estimate here = evaluate(mean).loss;
    way.points.push_back({time, at.mean.head(heads), here});
  };
  IntegrationOptions options;
  options.tolerance = 1e-7;
  require_times(times);
  way.outcome =
      integrate(flow, {start.mean.data(), start.mean.data() + heads}, times, options, observe).outcome;
  return way;
}

CriticalMean critical_mean(const PopulationLoss& loss, const OrderParameters& start) {
  CriticalMean at{start, loss.evaluate(start), Outcome::converged};
  if (loss.model().centred) return at;
  const Index heads = loss.model().heads;
  for (int iteration = 0; iteration < 100; ++iteration) {
    if (at.gradient.mean.norm() <= 1e-10 * (1e-3 + at.gradient.mean_curvature.norm())) return at;
    const VectorXd step = newton_step(at.gradient);
    double length = 1;
    CriticalMean next = at;
    bool improves = false;
    for (int halving = 0; halving < 30 && !improves; ++halving, length *= 0.5) {
      next.parameters.mean.head(heads) = at.parameters.mean.head(heads) + length * step;
      next.gradient = loss.evaluate(next.parameters);
      const double before = at.gradient.loss.value;
      const double after = next.gradient.loss.value;
      const double gain = at.gradient.mean.dot(step) * length;
      // Near the minimum the loss no longer tells points apart; its slope does.
      const bool level = after <= before + 1e-12 * (1 + std::abs(before));
      improves = after <= before + 1e-4 * gain ||
                 (level && next.gradient.mean.norm() < 0.5 * at.gradient.mean.norm());
    }
    if (!improves) {
      at.outcome = Outcome::stagnated;
      return at;
    }
    at = next;
  }
  at.outcome = Outcome::iteration_limit;
  return at;
}

}  // namespace qklab::dynamics
