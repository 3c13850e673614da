#include "qklab/dynamics/hierarchy/fock.hpp"

#include <cblas.h>

#include <string>

#include "dynamics/trajectory/integrate.hpp"
#include "fock_space.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

/// The matrices of all letters; those of the students lie one after another in the integrator's state.
class FockFlow {
 public:
  FockFlow(std::vector<Eigen::MatrixXd> letters, int students,
           const std::function<HeadDrift(const HeadOverlaps&)>& drift)
      : letters_(std::move(letters)), students_(students), size_(letters_[0].rows()), drift_(drift) {}

  std::vector<double> start() const;
  void operator()(const std::vector<double>& y, std::vector<double>& slopes, double time);
  HeadOverlaps overlaps(const std::vector<double>& y) const;

 private:
  Eigen::Map<const Eigen::MatrixXd> letter(const std::vector<double>& y, int which) const;

  std::vector<Eigen::MatrixXd> letters_;
  int students_;
  Eigen::Index size_;
  const std::function<HeadDrift(const HeadOverlaps&)>& drift_;
};

void require_order(int letters, int order);

}  // namespace

HeadPath fock_flow(const std::vector<JacobiCoefficients>& students,
                   const std::vector<JacobiCoefficients>& teachers,
                   const std::function<HeadDrift(const HeadOverlaps&)>& drift,
                   const std::vector<double>& times, const FockOptions& options) {
  require_times(times);
  const IntegrationOptions integration{options.tolerance, options.max_steps, options.stop};
  require_options(integration);
  if (students.empty()) throw InvalidParameter("students", "0", "needs at least one");
  std::vector<JacobiCoefficients> laws = students;
  laws.insert(laws.end(), teachers.begin(), teachers.end());
  require_order(static_cast<int>(laws.size()), options.order);
  FockFlow flow(free_letters(laws, options.order), static_cast<int>(students.size()), drift);
  HeadPath path;
  const Integration way = integrate([&](const auto& y, auto& slopes, double t) { flow(y, slopes, t); },
                                    flow.start(), times, integration,
                                    [&](const auto& y, double t) {
                                      path.points.push_back({t, flow.overlaps(y)});
                                    });
  path.outcome = way.outcome;
  path.steps = way.steps;
  return path;
}

Trajectory fock_flow(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start,
                     const std::vector<double>& times, const FockOptions& options, double weight_decay) {
  checked(start);
  require_order(2, options.order);
  const auto drift = [&](const HeadOverlaps& overlaps) {
    const LossSlopes slopes = loss.slopes(overlaps.products(0, 1), overlaps.products(0, 0));
    HeadDrift of{Eigen::MatrixXd(1, 2), Eigen::VectorXd::Constant(1, weight_decay)};
    of.matrices << 4 * slopes.self_overlap, 2 * slopes.overlap;
    return of;
  };
  const HeadPath path =
      fock_flow({wishart_coefficients(start.entry_variance(), start.kappa, options.order + 1)},
                {jacobi_coefficients(teacher, options.order + 1)}, drift, times, options);
  Trajectory trajectory;
  trajectory.outcome = path.outcome;
  trajectory.steps = path.steps;
  for (const HeadPoint& point : path.points) {
    const HeadOverlaps& at = point.overlaps;
    trajectory.points.push_back(
        trajectory_point(loss, point.time, at.products(0, 1), at.products(0, 0), at.traces[0]));
  }
  return trajectory;
}

namespace {

std::vector<double> FockFlow::start() const {
  std::vector<double> y;
  for (int k = 0; k < students_; ++k) {
    y.insert(y.end(), letters_[k].data(), letters_[k].data() + letters_[k].size());
  }
  return y;
}

/// dS_k = -(H S_k + S_k H) - 2 shift S_k, H = sum_l h_kl S_l.
void FockFlow::operator()(const std::vector<double>& y, std::vector<double>& slopes, double /*time*/) {
  slopes.resize(y.size());
  const HeadDrift drift = drift_(overlaps(y));
  const int n = static_cast<int>(size_);
  Eigen::MatrixXd sum(size_, size_);
  Eigen::MatrixXd product(size_, size_);
  for (int k = 0; k < students_; ++k) {
    sum.setZero();
    for (int l = 0; l < static_cast<int>(letters_.size()); ++l) sum += drift.matrices(k, l) * letter(y, l);
    const auto s = letter(y, k);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, sum.data(), n, s.data(), n, 0.0,
                product.data(), n);
    Eigen::Map<Eigen::MatrixXd>(slopes.data() + k * size_ * size_, size_, size_) =
        -product - product.transpose() - 2 * drift.shifts[k] * s;
  }
}

HeadOverlaps FockFlow::overlaps(const std::vector<double>& y) const {
  const auto count = static_cast<Eigen::Index>(letters_.size());
  Eigen::MatrixXd on_vacuum(size_, count);
  for (int l = 0; l < static_cast<int>(count); ++l) on_vacuum.col(l) = letter(y, l).col(0);
  return {on_vacuum.transpose() * on_vacuum, on_vacuum.row(0).transpose()};
}

Eigen::Map<const Eigen::MatrixXd> FockFlow::letter(const std::vector<double>& y, int which) const {
  const double* data = which < students_ ? y.data() + which * size_ * size_ : letters_[which].data();
  return {data, size_, size_};
}

void require_order(int letters, int order) {
  constexpr double largest = 4000;
  if (order < 1 || fock_dimension(letters, order) > largest) {
    throw InvalidParameter(
        "order", std::to_string(order),
        "must be >= 1 and lead to at most 4000 words in " + std::to_string(letters) + " letters");
  }
}

}  // namespace
}  // namespace qklab::dynamics
