#include "qklab/dynamics/matrix_flow/direct.hpp"

#include <algorithm>
#include <cmath>

#include "dynamics/trajectory/integrate.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/slow_fast/critical_mean.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The state of the flow: Omega and Psi of students with all matrices, and Tr S/d of students.
struct Closed {
  MatrixXd transposed;  ///< K x P
  MatrixXd product;     ///< K x P
  VectorXd trace;       ///< K
};

bool all_finite(const std::vector<double>& values);
std::vector<double> packed(const Closed& state);
Closed unpacked(const std::vector<double>& values, Index heads, Index count);
void set_students(const Closed& state, OrderParameters& parameters);
Closed slopes_of(const LossGradient& gradient, const OrderParameters& at, const VectorXd& trace,
                 const DirectOptions& options);
void check(const DirectOptions& options);

}  // namespace

OrderTrajectory direct_flow(const PopulationLoss& loss, const OrderParameters& start, const VectorXd& trace,
                            const std::vector<double>& times, const DirectOptions& options) {
  check(options);
  require_times(times);
  const Index heads = loss.model().heads;
  const Index count = start.count();
  if (trace.size() != count) {
    throw InvalidParameter("trace", static_cast<double>(trace.size()), "must be one for each matrix");
  }
  OrderParameters at = critical_mean(loss, start).parameters;  // throws where `start` does not fit
  VectorXd traces = trace;
  const auto follow = [&](const std::vector<double>& values) {
    const Closed state = unpacked(values, heads, count);
    set_students(state, at);
    traces.head(heads) = state.trace;
    CriticalMean critical = critical_mean(loss, at);
    at = critical.parameters;
    return critical;
  };

  OrderTrajectory way;
  bool is_critical = true;
  const auto flow = [&](const std::vector<double>& values, std::vector<double>& change, double /*tau*/) {
    // The integrator goes back from values that are not finite.
    change = all_finite(values) ? packed(slopes_of(follow(values).gradient, at, traces, options)) : values;
  };
  const auto observe = [&](const std::vector<double>& values, double tau) {
    const CriticalMean here = follow(values);
    is_critical = is_critical && is_answer(here.outcome);
    way.points.push_back({tau, at, traces, here.gradient.loss});
  };
  const Closed state{at.transposed.topRows(heads), at.product.topRows(heads), trace.head(heads)};
  IntegrationOptions integration;
  integration.tolerance = options.tolerance;
  integration.max_steps = options.max_steps;
  integration.stop = options.stop;
  const Integration done = integrate(flow, packed(state), times, integration, observe);
  way.outcome = is_critical || !is_answer(done.outcome) ? done.outcome : Outcome::stagnated;
  way.steps = done.steps;
  return way;
}

namespace {

bool all_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

std::vector<double> packed(const Closed& state) {
  std::vector<double> values(state.transposed.size() + state.product.size() + state.trace.size());
  double* next = values.data();
  const auto put = [&](const auto& part) {
    std::copy_n(part.data(), part.size(), next);
    next += part.size();
  };
  put(state.transposed);
  put(state.product);
  put(state.trace);
  return values;
}

Closed unpacked(const std::vector<double>& values, Index heads, Index count) {
  const double* next = values.data();
  return {Eigen::Map<const MatrixXd>(next, heads, count),
          Eigen::Map<const MatrixXd>(next + heads * count, heads, count),
          Eigen::Map<const VectorXd>(next + 2 * heads * count, heads)};
}

void set_students(const Closed& state, OrderParameters& parameters) {
  const Index heads = state.transposed.rows();
  const auto set = [&](const MatrixXd& rows, MatrixXd& all) {
    all.topRows(heads) = rows;
    all.leftCols(heads) = rows.transpose();
    const MatrixXd own = rows.leftCols(heads);
    all.topLeftCorner(heads, heads) = 0.5 * (own + own.transpose());
  };
  set(state.transposed, parameters.transposed);
  set(state.product, parameters.product);
}

/// (10.41): with h the slopes, tr(H_k S_l^T) = h Omega + h' Psi and tr(H_k S_l) = h Psi + h' Omega.
Closed slopes_of(const LossGradient& gradient, const OrderParameters& at, const VectorXd& trace,
                 const DirectOptions& options) {
  const auto& [h, mirrored] = gradient.slope;
  const Index heads = h.rows();
  Closed change{-(h * at.transposed + mirrored * at.product), -(h * at.product + mirrored * at.transposed),
                -(h + mirrored) * trace};
  const auto complete = [&](MatrixXd& rows, const MatrixXd& now, const MatrixXd& noise) {
    rows -= options.weight_decay * now.topRows(heads);
    const MatrixXd own = rows.leftCols(heads);
    rows.leftCols(heads) = own + own.transpose() + options.step_noise * noise;
  };
  const MatrixXd mixed = 0.5 * (gradient.noise.transposed + gradient.noise.product);
  complete(change.transposed, at.transposed, options.symmetrised ? mixed : gradient.noise.transposed);
  complete(change.product, at.product, options.symmetrised ? mixed : gradient.noise.product);
  change.trace -= options.weight_decay * trace.head(heads);
  return change;
}

void check(const DirectOptions& options) {
  if (!(options.weight_decay >= 0) || !std::isfinite(options.weight_decay)) {
    throw InvalidParameter("lambda", options.weight_decay, "the weight decay must be >= 0 and finite");
  }
  if (!(options.step_noise >= 0) || !std::isfinite(options.step_noise)) {
    throw InvalidParameter("step noise", options.step_noise, "step size * d/batch must be >= 0 and finite");
  }
  IntegrationOptions integration;
  integration.tolerance = options.tolerance;
  integration.max_steps = options.max_steps;
  require_options(integration);
}

}  // namespace
}  // namespace qklab::dynamics
