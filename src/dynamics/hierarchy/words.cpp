#include "qklab/dynamics/hierarchy/words.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "bracelets.hpp"
#include "dynamics/trajectory/integrate.hpp"
#include "fock_space.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace qklab::dynamics {
namespace {

/// Moments of normalised letters S/r, S0/r0, so that long words stay of order one.
class Hierarchy {
 public:
  Hierarchy(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start, int order,
            const WordOptions& options);

  std::vector<double> start() const { return {values_.begin(), values_.begin() + equations_.variables}; }
  void operator()(const std::vector<double>& y, std::vector<double>& slopes, double time);
  TrajectoryPoint point(const std::vector<double>& y, double time) const;

 private:
  double product(const std::vector<WordTerm>& terms) const;
  double overlap(const std::vector<double>& y) const { return y[overlap_] * radius_ * teacher_radius_; }
  double self_overlap(const std::vector<double>& y) const { return y[self_overlap_] * radius_ * radius_; }

  const SymmetricLoss& loss_;
  WordEquations equations_;
  double shrink_;
  double nu_;
  double radius_;
  double teacher_radius_;
  double far_;  ///< a q beyond it has left the domain
  int overlap_;
  int self_overlap_;
  int trace_;
  std::vector<double> values_;  ///< of all words: the variables, then the constants
};

Trajectory follow(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start,
                  const std::vector<double>& times, int order, const WordOptions& options);
double agreed_until(const Trajectory& lower, const Trajectory& higher, double agreement);
void require_words(const WordOptions& options);

constexpr int longest = 14;

}  // namespace

int word_count(int order) {
  if (order < 1 || order > longest) {
    throw InvalidParameter("order", std::to_string(order), "must be 1..14");
  }
  return WordEquations(order).variables;
}

Trajectory word_hierarchy(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start,
                          const std::vector<double>& times, const WordOptions& options) {
  require_times(times);
  require_words(options);
  checked(start);
  Trajectory trajectory = follow(loss, teacher, start, times, options.order, options);
  const int lower = std::max(2, options.order - 2);
  trajectory.trusted_until =
      lower < options.order
          ? agreed_until(follow(loss, teacher, start, times, lower, options), trajectory, options.agreement)
          : 0;
  return trajectory;
}

namespace {

Trajectory follow(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start,
                  const std::vector<double>& times, int order, const WordOptions& options) {
  Hierarchy hierarchy(loss, teacher, start, order, options);
  Trajectory trajectory;
  const Integration way =
      integrate([&](const auto& y, auto& slopes, double t) { hierarchy(y, slopes, t); }, hierarchy.start(),
                times, {options.tolerance, options.max_steps, options.stop},
                [&](const auto& y, double t) { trajectory.points.push_back(hierarchy.point(y, t)); });
  trajectory.outcome = way.outcome;
  trajectory.steps = way.steps;
  return trajectory;
}

Hierarchy::Hierarchy(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start, int order,
                     const WordOptions& options)
    : loss_(loss),
      equations_(order),
      shrink_(2 * options.weight_decay),
      nu_(options.nu),
      radius_(start.entry_variance() * std::pow(1 + std::sqrt(start.kappa), 2)),
      teacher_radius_(std::max(std::abs(hull(teacher).lo), std::abs(hull(teacher).hi))),
      far_(30 * (loss.teacher_self_overlap() + start.trace * start.trace * (1 + 1 / start.kappa))),
      overlap_(equations_.index(1, 2)),
      self_overlap_(equations_.index(3, 2)),
      trace_(equations_.index(1, 1)) {
  const int half = (order + 1) / 2;
  const std::vector<Eigen::MatrixXd> letters =
      free_letters({jacobi_coefficients(teacher, half + 1),
                    wishart_coefficients(start.entry_variance(), start.kappa, half + 1)},
                   half);
  for (const Bracelet& word : equations_.words) {
    Eigen::VectorXd vector = Eigen::VectorXd::Unit(letters[0].rows(), 0);
    for (int i = 0; i < word.length; ++i) {
      const bool student = word.is_student(i);
      vector = letters[student ? 1 : 0] * vector / (student ? radius_ : teacher_radius_);
    }
    values_.push_back(vector[0]);
  }
}

/// dp_w = -a sum p(S -> S S) - b sum [p(S -> S0 S) + p(S -> S S0)] - 2g n_S p_w + e (noise).
void Hierarchy::operator()(const std::vector<double>& y, std::vector<double>& slopes, double /*time*/) {
  slopes.assign(y.size(), std::numeric_limits<double>::quiet_NaN());
  const double q = self_overlap(y);
  if (!(q >= 0 && q < far_) || !std::isfinite(overlap(y))) return;
  std::copy(y.begin(), y.end(), values_.begin());
  const LossSlopes at = loss_.slopes(overlap(y), q);
  const double a = 8 * at.self_overlap * radius_;
  const double b = 2 * at.overlap * teacher_radius_;
  const double e = nu_ > 0 ? nu_ * loss_.noise_strength(overlap(y), q) : 0;
  for (int w = 0; w < equations_.variables; ++w) {
    slopes[w] = -a * product(equations_.growth[w]) - b * product(equations_.pull[w]) -
                shrink_ * equations_.words[w].students() * y[w];
    if (e > 0) slopes[w] += e * product(equations_.noise[w]);
  }
}

double Hierarchy::product(const std::vector<WordTerm>& terms) const {
  double sum = 0;
  for (const WordTerm& term : terms) sum += term.count * values_[term.first] * values_[term.second];
  return sum;
}

TrajectoryPoint Hierarchy::point(const std::vector<double>& y, double time) const {
  return trajectory_point(loss_, time, overlap(y), self_overlap(y), y[trace_] * radius_);
}

double agreed_until(const Trajectory& lower, const Trajectory& higher, double agreement) {
  double until = 0;
  for (std::size_t k = 0; k < std::min(lower.points.size(), higher.points.size()); ++k) {
    const TrajectoryPoint& x = lower.points[k];
    const TrajectoryPoint& y = higher.points[k];
    if (std::max(std::abs(x.overlap.value - y.overlap.value),
                 std::abs(x.self_overlap.value - y.self_overlap.value)) > agreement) {
      break;
    }
    until = y.time;
  }
  return until;
}

void require_words(const WordOptions& options) {
  require_options({options.tolerance, options.max_steps, options.stop});
  if (options.order < 2 || options.order > longest) {
    throw InvalidParameter("order", std::to_string(options.order), "words have 2..14 letters");
  }
  if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay))) {
    throw InvalidParameter("weight decay", options.weight_decay, "must be >= 0 and finite");
  }
  if (!(options.nu >= 0 && std::isfinite(options.nu))) {
    throw InvalidParameter("nu", options.nu, "step size * d/batch must be >= 0 and finite");
  }
  if (!(options.agreement > 0)) throw InvalidParameter("agreement", options.agreement, "must be > 0");
}

}  // namespace
}  // namespace qklab::dynamics
