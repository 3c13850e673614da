#include "qklab/theory/generalization/weight_decay.hpp"

#include <algorithm>
#include <array>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "qklab/core/error.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::theory {
namespace {

constexpr double smallest_lambda = 1e-8;
constexpr double largest_lambda = 1e4;
/// Steps of log lambda while the minimum is looked for.
constexpr double stride = 1.151292546497023;  // log sqrt(10)

/// The test error as a function of log lambda, with every solution kept.
class DecayCurve {
 public:
  DecayCurve(Problem problem, StateEvolution& evolution)
      : problem_(std::move(problem)), evolution_(evolution) {}

  /// log of the test error; infinite where the state evolution has no answer.
  double operator()(double log_lambda);
  const Solution& solution(double log_lambda);
  const std::map<double, Solution>& known() const { return known_; }
  bool interrupted() const { return evolution_.options().stop.requested(); }

 private:
  Problem problem_;
  StateEvolution& evolution_;
  std::map<double, Solution> known_;
};

struct Bracket {
  double low = 0;
  double middle = 0;
  double high = 0;
};

Bracket bracket_minimum(DecayCurve& curve, double start);
double refine(DecayCurve& curve, const Bracket& bracket, double precision);
/// The place beyond `from`, walking by `step`, where the log test error reaches `level`; NaN when it does
/// not.
double reach(DecayCurve& curve, double from, double step, double level);
double error_of_minimum(const Problem& problem, const SolveOptions& options, double minimum,
                        double half_width, int replicas);
TuneOptions checked(TuneOptions options);

}  // namespace

BestWeightDecay best_weight_decay(const Problem& problem, StateEvolution& evolution,
                                  const TuneOptions& options) {
  checked(options);
  DecayCurve curve(problem, evolution);
  const double start = std::log(std::clamp(problem.lambda, smallest_lambda, largest_lambda));
  const Bracket bracket = bracket_minimum(curve, start);
  BestWeightDecay result;
  result.vanishes = bracket.middle == bracket.low;
  const double minimum = result.vanishes ? bracket.low : refine(curve, bracket, options.precision);
  result.best = curve.solution(minimum);
  result.outcome = curve.interrupted() ? Outcome::interrupted : result.best.outcome;
  result.lambda.value = std::exp(minimum);
  result.flat_low = result.flat_high = std::numeric_limits<double>::quiet_NaN();
  const double level = curve(minimum) + std::log1p(options.flat_rise);
  if (options.flatness && std::isfinite(level)) {
    if (!result.vanishes) result.flat_low = std::exp(reach(curve, minimum, -stride / 2, level));
    result.flat_high = std::exp(reach(curve, minimum, stride / 2, level));
  }
  const bool is_noisy = problem.activation == Activation::softmax && !is_sampled(problem);
  if (is_noisy && options.replicas > 1 && !result.vanishes && is_answer(result.outcome)) {
    result.lambda.se = result.lambda.value *
                       error_of_minimum(problem, evolution.options(), minimum, stride / 4, options.replicas);
  }
  for (const auto& [log_lambda, solution] : curve.known()) result.curve.push_back(solution);
  return result;
}

namespace {

double DecayCurve::operator()(double log_lambda) {
  const Solution& at = solution(log_lambda);
  return is_answer(at.outcome) ? std::log(at.test_error.value) : std::numeric_limits<double>::infinity();
}

const Solution& DecayCurve::solution(double log_lambda) {
  if (const auto found = known_.find(log_lambda); found != known_.end()) return found->second;
  std::optional<Solution> neighbour;
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& [place, solution] : known_) {
    if (solution.outcome != Outcome::converged || std::abs(place - log_lambda) >= nearest) continue;
    nearest = std::abs(place - log_lambda);
    neighbour = solution;
  }
  problem_.lambda = std::exp(log_lambda);
  return known_.emplace(log_lambda, evolution_.solve(problem_, neighbour)).first->second;
}

/// Walks up and down from the start until the test error has clearly risen, so that a shallow second minimum
/// near the start does not end the search. It is constant where S = 0, which ends the walk up, and settles as
/// lambda -> 0, which ends the walk down.
Bracket bracket_minimum(DecayCurve& curve, double start) {
  constexpr double clear_rise = 0.02;
  constexpr double settled = 1e-3;
  constexpr int settled_steps = 4;
  double lowest = curve(start);
  const auto walk = [&](double step, double end) {
    int flat = 0;
    double before = curve(start);
    for (double at = start; at != end && !curve.interrupted();) {
      at = step < 0 ? std::max(at + step, end) : std::min(at + step, end);
      const double value = curve(at);
      const bool is_zero = curve.solution(at).outcome == Outcome::zero_solution;
      lowest = std::min(lowest, value);
      flat = !is_zero && std::abs(value - before) < settled ? flat + 1 : 0;
      before = value;
      if (value > lowest + clear_rise) return;
      if (step > 0 ? is_zero : flat >= settled_steps) return;
    }
  };
  walk(stride, std::log(largest_lambda));
  walk(-stride, std::log(smallest_lambda));

  const auto& known = curve.known();
  const auto best =
      std::ranges::min_element(known, {}, [&curve](const auto& entry) { return curve(entry.first); });
  const auto low = best == known.begin() ? best : std::prev(best);
  const auto high = std::next(best) == known.end() ? best : std::next(best);
  return {low->first, best->first, high->first};
}

double refine(DecayCurve& curve, const Bracket& bracket, double precision) {
  // Brent's tolerance is relative to the size of the argument: measured from the bracket's middle.
  const int bits = static_cast<int>(std::ceil(-std::log2(precision)));
  std::uintmax_t evaluations = 30;
  const auto objective = [&](double shift) { return curve(bracket.middle + shift - 1); };
  const auto [shift, value] = boost::math::tools::brent_find_minima(
      objective, bracket.low - bracket.middle + 1, bracket.high - bracket.middle + 1, bits, evaluations);
  const double found = bracket.middle + shift - 1;
  return value <= curve(bracket.middle) ? found : bracket.middle;
}

double reach(DecayCurve& curve, double from, double step, double level) {
  constexpr double never = std::numeric_limits<double>::quiet_NaN();
  double inside = from;
  double outside = from + step;
  for (; curve(outside) < level; outside += step) {
    inside = outside;
    if (outside < std::log(smallest_lambda) || outside > std::log(largest_lambda)) return never;
    if (curve.interrupted()) return never;
  }
  const auto close = [](double a, double b) { return std::abs(a - b) < 1e-2; };
  std::uintmax_t evaluations = 30;
  const auto excess = [&](double x) { return std::min(curve(x) - level, 1e3); };
  const auto [low, high] = boost::math::tools::toms748_solve(excess, std::min(inside, outside),
                                                             std::max(inside, outside), close, evaluations);
  return (low + high) / 2;
}

/// Spread of the minimum of the parabola through three points around it, over independent samples that each
/// have the points of the full one: the standard error of one of them.
double error_of_minimum(const Problem& problem, const SolveOptions& options, double minimum,
                        double half_width, int replicas) {
  std::vector<double> vertices;
  for (int r = 0; r < replicas && !options.stop.requested(); ++r) {
    SolveOptions own = options;
    own.qmc.seed = options.qmc.seed + 1'000'003 * static_cast<std::uint64_t>(r + 1);
    StateEvolution evolution(own);
    DecayCurve curve(problem, evolution);
    const std::array<double, 3> y{curve(minimum - half_width), curve(minimum), curve(minimum + half_width)};
    const double curvature = y[0] - 2 * y[1] + y[2];
    if (curvature > 0) vertices.push_back(0.5 * half_width * (y[0] - y[2]) / curvature);
  }
  const auto count = static_cast<double>(vertices.size());
  if (count < 2) return std::numeric_limits<double>::quiet_NaN();
  return mean_and_error(vertices).se * std::sqrt(count);
}

TuneOptions checked(TuneOptions options) {
  if (!(options.precision > 0 && options.precision < 1)) {
    throw InvalidParameter("precision", options.precision, "of the search must be in (0, 1)");
  }
  if (!(options.flat_rise > 0 && std::isfinite(options.flat_rise))) {
    throw InvalidParameter("flat_rise", options.flat_rise, "must be > 0 and finite");
  }
  if (options.replicas < 0) throw InvalidParameter("replicas", options.replicas, "must be >= 0");
  return options;
}

}  // namespace
}  // namespace qklab::theory
