#include "qklab/dynamics/slow_fast/weak_recovery.hpp"

#include "qklab/core/error.hpp"
#include "qklab/dynamics/slow_fast/critical_mean.hpp"

namespace qklab::dynamics {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// What S0_l in the gradient does to Tr(S_k S0_l)/d, over Tr(S0_l S0_l')/d (10.71).
VectorXd response(Parametrization parametrization, const VectorXd& trace) {
  switch (parametrization) {
    case Parametrization::tied:
      return 4 * trace;
    case Parametrization::untied:
      return trace;
    case Parametrization::direct:
      break;
  }
  return VectorXd::Ones(trace.size());
}

}  // namespace

WeakRecovery weak_recovery(const PopulationLoss& loss, const OrderParameters& start,
                           Parametrization parametrization, const VectorXd& trace) {
  const Index heads = loss.model().heads;
  const Index teachers = loss.model().teacher_heads;
  if (trace.size() != heads) {
    throw InvalidParameter("trace", static_cast<double>(trace.size()), "must be one for each student");
  }
  const LossGradient gradient = critical_mean(loss, start).gradient;
  WeakRecovery verdict;
  verdict.cross_gradient =
      gradient.slope.transposed.rightCols(teachers) + gradient.slope.product.rightCols(teachers);
  verdict.se =
      gradient.slope_se.transposed.rightCols(teachers) + gradient.slope_se.product.rightCols(teachers);
  verdict.speed = (-response(parametrization, trace)).asDiagonal() * verdict.cross_gradient *
                  start.transposed.bottomRightCorner(teachers, teachers);
  const double scale = gradient.slope.transposed.norm() + gradient.slope.product.norm();
  verdict.recovers = (verdict.cross_gradient.array().abs() > 5 * verdict.se.array() + 1e-7 * scale).any();
  return verdict;
}

}  // namespace qklab::dynamics
