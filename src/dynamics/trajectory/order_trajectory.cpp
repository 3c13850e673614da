#include "qklab/dynamics/trajectory/order_trajectory.hpp"

#include <cmath>

#include "qklab/core/error.hpp"

namespace qklab::dynamics {

Trajectory pair_trajectory(const OrderTrajectory& trajectory, Eigen::Index heads, Eigen::Index student,
                           Eigen::Index teacher) {
  Trajectory pair;
  pair.outcome = trajectory.outcome;
  pair.steps = trajectory.steps;
  for (const OrderPoint& point : trajectory.points) {
    const Eigen::Index other = heads + teacher;
    if (student < 0 || student >= heads || teacher < 0 || other >= point.parameters.count()) {
      throw InvalidParameter("student, teacher", static_cast<double>(student), "there is no such matrix");
    }
    const Eigen::MatrixXd& overlaps = point.parameters.transposed;
    const double overlap = overlaps(student, other);
    const double size = std::sqrt(overlaps(student, student) * overlaps(other, other));
    TrajectoryPoint at;
    at.time = point.time;
    at.overlap.value = overlap;
    at.self_overlap.value = overlaps(student, student);
    at.trace.value = point.trace[student];
    at.loss = point.loss;
    at.alignment.value = size > 0 ? overlap / size : 0;
    pair.points.push_back(at);
  }
  return pair;
}

}  // namespace qklab::dynamics
