#include "qklab/dynamics/tied/tied_flow.hpp"

#include <cmath>
#include <limits>
#include <span>

#include "dynamics/trajectory/integrate.hpp"
#include "qklab/core/error.hpp"
#include "tied_equivalent.hpp"

namespace qklab::dynamics {
namespace {

/// Variables: B = int b, then G_i of every atom of the teacher.
class RiccatiFlow {
 public:
  RiccatiFlow(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start, double decay);

  std::vector<double> start() const { return std::vector<double>(teacher_.size() + 1, 0.0); }
  void operator()(const std::vector<double>& y, std::vector<double>& slopes, double time);
  TiedStudent student(const std::vector<double>& y, double time);

 private:
  bool solve(const std::vector<double>& y, double time);

  const SymmetricLoss& loss_;
  TiedStart start_;
  Eigen::ArrayXd teacher_;
  Eigen::ArrayXd masses_;
  double shrink_;  ///< 2 g
  TiedEquivalent equivalent_;
};

Eigen::ArrayXd array(const std::vector<double>& values);
void require_teacher(const DiscreteLaw& teacher);

}  // namespace

TiedPath tied_path(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                   const std::vector<double>& times, const FlowOptions& options) {
  require_times(times);
  require_teacher(teacher);
  const IntegrationOptions integration{options.tolerance, options.max_steps, options.stop};
  require_options(integration);
  RiccatiFlow flow(loss, teacher, checked(start), options.weight_decay);
  TiedPath path;
  const Integration way =
      integrate([&](const auto& y, auto& slopes, double t) { flow(y, slopes, t); }, flow.start(), times,
                integration, [&](const auto& y, double t) { path.students.push_back(flow.student(y, t)); });
  path.outcome = way.outcome;
  path.steps = way.steps;
  return path;
}

Trajectory tied_flow(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                     const std::vector<double>& times, const FlowOptions& options) {
  const TiedPath path = tied_path(loss, teacher, start, times, options);
  Trajectory trajectory;
  trajectory.outcome = path.outcome;
  trajectory.steps = path.steps;
  for (const TiedStudent& student : path.students) {
    trajectory.points.push_back(
        trajectory_point(loss, student.time, student.overlap, student.self_overlap, student.trace));
  }
  return trajectory;
}

TrajectoryPoint trajectory_point(const SymmetricLoss& loss, double time, double overlap, double self_overlap,
                                 double trace) {
  const double norm = std::sqrt(self_overlap * loss.teacher_self_overlap());
  return {time,
          {overlap, 0},
          {self_overlap, 0},
          {trace, 0},
          loss.slopes(overlap, self_overlap).loss,
          {norm > 0 ? overlap / norm : 0, 0}};
}

TiedStart checked(TiedStart start) {
  if (!(start.trace > 0 && std::isfinite(start.trace))) {
    throw InvalidParameter("start", start.trace, "Tr S/d at the start must be > 0 and finite");
  }
  if (!(start.kappa > 0 && std::isfinite(start.kappa))) {
    throw InvalidParameter("kappa", start.kappa, "the student's width ratio must be > 0 and finite");
  }
  return start;
}

namespace {

RiccatiFlow::RiccatiFlow(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                         double decay)
    : loss_(loss),
      start_(start),
      teacher_(array(teacher.locations)),
      masses_(array(teacher.masses)),
      shrink_(2 * decay),
      equivalent_(teacher_, masses_, start.entry_variance(), start.kappa) {
  if (!(decay >= 0 && std::isfinite(decay))) {
    throw InvalidParameter("weight decay", decay, "must be >= 0 and finite");
  }
}

/// dS/dtau = -a S^2 - b (S0 S + S S0) - 2g S with a = 8 Phi_q, b = 2 Phi_m: dB = b, dG = a + (2 b s + 2 g) G.
void RiccatiFlow::operator()(const std::vector<double>& y, std::vector<double>& slopes, double time) {
  slopes.assign(y.size(), std::numeric_limits<double>::quiet_NaN());
  if (!solve(y, time)) return;
  const LossSlopes at = loss_.slopes(equivalent_.overlap(), equivalent_.self_overlap());
  const double a = 8 * at.self_overlap;
  const double b = 2 * at.overlap;
  slopes[0] = b;
  for (Eigen::Index i = 0; i < teacher_.size(); ++i) {
    slopes[i + 1] = a + (2 * b * teacher_[i] + shrink_) * y[i + 1];
  }
}

bool RiccatiFlow::solve(const std::vector<double>& y, double time) {
  const Eigen::Map<const Eigen::ArrayXd> restraint(y.data() + 1, teacher_.size());
  return std::isfinite(y[0]) && equivalent_.solve(-2 * y[0] * teacher_ - shrink_ * time, restraint);
}

TiedStudent RiccatiFlow::student(const std::vector<double>& y, double time) {
  solve(y, time);
  TiedStudent student;
  student.time = time;
  student.profile = equivalent_.profile();
  student.overlap = equivalent_.overlap();
  student.self_overlap = equivalent_.self_overlap();
  student.trace = equivalent_.trace();
  student.teacher = teacher_;
  student.masses = masses_;
  student.growth = equivalent_.growth();
  student.restraint = Eigen::Map<const Eigen::ArrayXd>(y.data() + 1, teacher_.size());
  student.capacity = equivalent_.capacity();
  student.entry_variance = start_.entry_variance();
  student.width_ratio = start_.kappa;
  return student;
}

Eigen::ArrayXd array(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::ArrayXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

void require_teacher(const DiscreteLaw& teacher) {
  if (teacher.locations.empty() || teacher.locations.size() != teacher.masses.size()) {
    throw InvalidParameter("teacher", std::to_string(teacher.locations.size()) + " atoms",
                           "needs at least one atom and a mass for each");
  }
}

}  // namespace
}  // namespace qklab::dynamics
