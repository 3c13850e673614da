#include "qklab/theory/generalization/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "qklab/channel/expectation/saturation.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/generalization/weight_decay.hpp"

namespace qklab::theory {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

void require_series(const std::vector<Problem>& series, const ScalingOptions& options);
/// The solution of the next point, started from the last one.
Solution next_solution(Problem problem, const std::optional<Solution>& last, StateEvolution& evolution,
                       bool tuned);
ScalingPoint scaling_point(const Solution& solution, const Decomposition& split);
void follow_modes(std::vector<ModeEntry>& modes, const Decomposition& split, const ScalingPoint& point,
                  double last_samples);
void find_local_exponents(std::vector<ScalingPoint>& points);
void fit_exponent(ScalingLaw& law, const ScalingOptions& options);

}  // namespace

ScalingLaw scaling_law(const std::vector<Problem>& series, StateEvolution& evolution,
                       const ScalingOptions& options) {
  require_series(series, options);
  ScalingLaw law;
  for (int k = 1; k <= options.modes; ++k) law.modes.push_back({k, unknown, {}});
  Decomposer decompose(options.qmc);
  std::optional<Solution> last;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (options.progress)
      options.progress({"points", static_cast<double>(i), static_cast<double>(series.size())});
    Solution solution = next_solution(series[i], last, evolution, options.tuned);
    law.outcome = solution.outcome;
    if (evolution.options().stop.requested()) break;
    if (!is_answer(solution.outcome)) {
      ++law.unconverged;
      continue;
    }
    const Decomposition split = decompose(solution);
    law.saturation_error = split.saturation_error;
    const double last_samples = law.points.empty() ? unknown : law.points.back().samples;
    law.points.push_back(scaling_point(solution, split));
    follow_modes(law.modes, split, law.points.back(), last_samples);
    last = std::move(solution);
  }
  std::erase_if(law.modes, [](const ModeEntry& mode) { return mode.remaining.empty(); });
  find_local_exponents(law.points);
  fit_exponent(law, options);
  return law;
}

double predicted_exponent(double gamma) {
  if (!(gamma > 0.5)) throw InvalidParameter("gamma", gamma, "must be > 1/2");
  return -(1 - 1 / (2 * gamma));
}

std::string to_string(ScalingRegime regime) {
  switch (regime) {
    case ScalingRegime::before_onset:
      return "before onset";
    case ScalingRegime::emergence:
      return "emergence";
    case ScalingRegime::saturated:
      return "saturated";
  }
  return "unknown";
}

namespace {

void require_series(const std::vector<Problem>& series, const ScalingOptions& options) {
  if (series.size() < 2) {
    throw InvalidParameter("alpha", std::to_string(series.size()) + " values",
                           "a scaling law needs at least 2");
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (std::holds_alternative<WishartTeacher>(series[i].teacher)) {
      throw InvalidParameter("teacher", "wishart",
                             "scaling needs a teacher given mode by mode, such as power-law");
    }
    if (i > 0 && !(series[i].alpha > series[i - 1].alpha)) {
      throw InvalidParameter("alpha", series[i].alpha, "must ascend along the series");
    }
  }
  if (options.modes < 0) throw InvalidParameter("modes", options.modes, "must be >= 0");
}

/// The best weight decay grows about like sqrt(alpha), which makes a good start of its search.
Solution next_solution(Problem problem, const std::optional<Solution>& last, StateEvolution& evolution,
                       bool tuned) {
  if (!tuned) return evolution.solve(problem, last);
  problem.lambda =
      last ? last->problem.lambda * std::sqrt(problem.alpha / last->problem.alpha) : std::sqrt(problem.alpha);
  return best_weight_decay(problem, evolution, {.flatness = false, .replicas = 0}).best;
}

ScalingPoint scaling_point(const Solution& solution, const Decomposition& split) {
  ScalingPoint point;
  point.solution = solution;
  const double d = solution.problem.dimension;
  point.samples = solution.problem.alpha * d * d;
  point.excess = {solution.test_error.value - split.saturation_error.value,
                  std::hypot(solution.test_error.se, split.saturation_error.se)};
  point.recovered = split.recovered;
  double all = 0;
  for (const ModeContribution& mode : split.modes) all += mode.mode.multiplicity;
  const double kept = d * (1 - solution.zero_fraction.value);
  point.regime = kept > all - 0.5       ? ScalingRegime::saturated
                 : point.recovered == 0 ? ScalingRegime::before_onset
                                        : ScalingRegime::emergence;
  return point;
}

/// A mode enters halfway, in log n, between the last point without it and the first with it.
void follow_modes(std::vector<ModeEntry>& modes, const Decomposition& split, const ScalingPoint& point,
                  double last_samples) {
  for (ModeEntry& entry : modes) {
    const auto index = static_cast<std::size_t>(entry.mode - 1);
    if (index >= split.modes.size()) continue;
    const ModeContribution& now = split.modes[index];
    const double target = split.scale.value * now.mode.teacher;
    const bool was_out = !entry.remaining.empty() && entry.remaining.back() == 1;
    const double remaining =
        now.mode.recovered ? now.contribution * point.solution.problem.dimension / (target * target) : 1;
    if (was_out && now.mode.recovered && std::isnan(entry.enters)) {
      entry.enters = std::sqrt(last_samples * point.samples);
    }
    entry.remaining.push_back(remaining);
  }
}

void find_local_exponents(std::vector<ScalingPoint>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ScalingPoint& from = points[i > 0 ? i - 1 : i];
    const ScalingPoint& to = points[std::min(i + 1, points.size() - 1)];
    const double distance = std::log(to.samples / from.samples);
    points[i].local_exponent.value = std::log(to.excess.value / from.excess.value) / distance;
    points[i].local_exponent.se =
        std::hypot(to.excess.se / to.excess.value, from.excess.se / from.excess.value) / distance;
  }
}

std::vector<const ScalingPoint*> points_to_fit(const ScalingLaw& law, const ScalingOptions& options) {
  const auto chosen = [&law](const auto& is_wanted) {
    std::vector<const ScalingPoint*> points;
    for (const ScalingPoint& point : law.points) {
      if (point.excess.value > 0 && is_wanted(point)) points.push_back(&point);
    }
    return points;
  };
  if (options.fit_low > 0 || std::isfinite(options.fit_high)) {
    return chosen([&options](const ScalingPoint& point) {
      return point.samples >= options.fit_low && point.samples <= options.fit_high;
    });
  }
  auto points = chosen([](const ScalingPoint& point) {
    return point.recovered >= 3 && 4 * point.recovered <= point.solution.problem.dimension;
  });
  if (points.size() < 3) {
    points = chosen([](const ScalingPoint& point) { return point.regime == ScalingRegime::emergence; });
  }
  return points.size() < 3 ? chosen([](const ScalingPoint&) { return true; }) : points;
}

/// Least squares in log-log.
void fit_exponent(ScalingLaw& law, const ScalingOptions& options) {
  const std::vector<const ScalingPoint*> points = points_to_fit(law, options);
  const auto count = static_cast<double>(points.size());
  law.exponent = {unknown, unknown};
  law.fitted_from = law.fitted_to = unknown;
  if (points.size() < 2) return;
  law.fitted_from = points.front()->samples;
  law.fitted_to = points.back()->samples;
  double mean_x = 0;
  double mean_y = 0;
  for (const ScalingPoint* point : points) {
    mean_x += std::log(point->samples) / count;
    mean_y += std::log(point->excess.value) / count;
  }
  double xx = 0;
  double xy = 0;
  for (const ScalingPoint* point : points) {
    const double x = std::log(point->samples) - mean_x;
    xx += x * x;
    xy += x * (std::log(point->excess.value) - mean_y);
  }
  law.exponent.value = xy / xx;
  if (points.size() < 3) return;
  double scatter = 0;
  for (const ScalingPoint* point : points) {
    const double x = std::log(point->samples) - mean_x;
    scatter += std::pow(std::log(point->excess.value) - mean_y - law.exponent.value * x, 2);
  }
  law.exponent.se = std::sqrt(scatter / (count - 2) / xx);
}

}  // namespace
}  // namespace qklab::theory
