#include "qklab/dynamics/untied.hpp"

#include "qklab/core/error.hpp"

namespace qklab::dynamics {

UntiedFlow untied_flow(const PopulationLoss& loss, const std::vector<StudentWeights>& start,
                       const std::vector<Eigen::MatrixXd>& teachers, const std::vector<double>& fast_times,
                       const std::vector<double>& times, MatrixFlowOptions options) {
  if (loss.model().centred) {
    throw InvalidParameter("centred", "true", "the two phases are those of uncentred scores");
  }
  options.parametrization = Parametrization::untied;
  options.trace_scale = TraceScale::critical_manifold;
  UntiedFlow flow;
  // First of all, because it looks at the shapes.
  flow.slow = matrix_flow(loss, start, teachers, times, options);

  std::vector<Eigen::MatrixXd> matrices;
  Eigen::VectorXd rates(std::ssize(start));
  for (const StudentWeights& w : start) {
    const auto d = static_cast<double>(w.first.rows());
    rates[std::ssize(matrices)] = (w.first.squaredNorm() + w.second.squaredNorm()) / d;
    matrices.push_back(student_matrix(Parametrization::untied, w));
  }
  matrices.insert(matrices.end(), teachers.begin(), teachers.end());
  const OrderParameters at_start = order_parameters(matrices);
  flow.fast = fast_phase(loss, at_start, rates, fast_times);
  flow.critical = critical_mean(loss, at_start);
  flow.recovery = weak_recovery(loss, flow.critical.parameters, Parametrization::untied, rates);
  return flow;
}

}  // namespace qklab::dynamics
