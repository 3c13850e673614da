#include <lbfgs.h>

#include <algorithm>
#include <memory>
#include <new>

#include "descent_log.hpp"

namespace qklab::lab {
namespace {

constexpr int corrections = 20;
/// Iterations without a lower value or a smaller gradient after which the curvature memory is dropped.
constexpr long patience = 100;

/// liblbfgs wants vectors aligned for its SSE loops.
struct AlignedDelete {
  void operator()(double* vector) const { lbfgs_free(vector); }
};
using AlignedVector = std::unique_ptr<double, AlignedDelete>;

AlignedVector aligned_copy(std::span<const double> vector);

lbfgs_parameter_t parameters();

/// What liblbfgs calls. The values it sees are f at the start plus differences along the path, which stay
/// exact where differences of f drown in rounding.
class Path {
 public:
  Path(DescentLog& log, double rounding) : log_(log), rounding_(rounding) {}

  static double evaluate(void* path, const double* point, double* gradient, int size, double step);
  /// Non-zero ends the iteration.
  static int accept(void* path, const double* point, const double* gradient, double value, double point_norm,
                    double gradient_norm, double step, int size, int iteration, int evaluations);

 private:
  DescentLog& log_;
  double rounding_;
  std::vector<double> point_;     ///< where the line search started,
  std::vector<double> gradient_;  ///< its gradient,
  double value_ = 0;              ///< f there,
  double path_value_ = 0;         ///< and f as liblbfgs has it
  double trial_value_ = 0;        ///< f at the last trial point
};

}  // namespace

Descent minimize_lbfgs(const DifferentiableFunction& function, std::span<const double> start,
                       const DescentOptions& options) {
  DescentLog log(function, options);
  std::vector<double> from(start.begin(), start.end());
  lbfgs_parameter_t settings = parameters();
  while (true) {
    const long epochs_before = log.lowest().epochs;
    AlignedVector point = aligned_copy(from);
    Path path(log, options.value_rounding);
    lbfgs(static_cast<int>(from.size()), point.get(), nullptr, Path::evaluate, Path::accept, &path,
          &settings);
    if (log.ended() || !log.has_finite_value()) return log.finish(Outcome::diverged);
    const long epochs_spent = log.lowest().epochs - epochs_before;
    if (epochs_before > 0 && log.epochs_without_progress() >= epochs_spent - 1) {
      return log.finish(Outcome::stagnated);
    }
    from = log.lowest().point;
  }
}

namespace {

AlignedVector aligned_copy(std::span<const double> vector) {
  AlignedVector copy(lbfgs_malloc(static_cast<int>(vector.size())));
  if (!copy) throw std::bad_alloc();
  std::copy(vector.begin(), vector.end(), copy.get());
  return copy;
}

/// Its own stopping tests are off: DescentLog has ours.
lbfgs_parameter_t parameters() {
  lbfgs_parameter_t settings;
  lbfgs_parameter_init(&settings);
  settings.m = corrections;
  settings.epsilon = 0;
  settings.past = 0;
  settings.max_iterations = 0;
  settings.linesearch = LBFGS_LINESEARCH_MORETHUENTE;
  return settings;
}

double Path::evaluate(void* path, const double* point, double* gradient, int size, double /*step*/) {
  Path& self = *static_cast<Path*>(path);
  const auto n = static_cast<std::size_t>(size);
  const std::span<const double> trial(point, n);
  const std::span<double> slope(gradient, n);
  self.trial_value_ = self.log_.evaluate(trial, slope);
  if (self.point_.empty()) {
    self.point_.assign(trial.begin(), trial.end());
    self.gradient_.assign(slope.begin(), slope.end());
    self.value_ = self.path_value_ = self.trial_value_;
    return self.trial_value_;
  }
  return self.path_value_ + difference({self.point_, self.gradient_, self.value_},
                                       {trial, slope, self.trial_value_}, self.rounding_);
}

int Path::accept(void* path, const double* point, const double* gradient, double value, double /*point_norm*/,
                 double /*gradient_norm*/, double /*step*/, int size, int /*iteration*/,
                 int /*evaluations*/) {
  Path& self = *static_cast<Path*>(path);
  self.point_.assign(point, point + size);
  self.gradient_.assign(gradient, gradient + size);
  self.value_ = self.trial_value_;
  self.path_value_ = value;
  return self.log_.ended() || self.log_.epochs_without_progress() > patience ? 1 : 0;
}

}  // namespace
}  // namespace qklab::lab
