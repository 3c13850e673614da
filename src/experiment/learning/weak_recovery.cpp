#include "qklab/experiment/learning/weak_recovery.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "dynamics_ways.hpp"
#include "experiment/document/json_parts.hpp"
#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/slow_fast/weak_recovery.hpp"

namespace qklab::experiment {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

void require(const WeakRecoveryOptions& options);
EscapeAt escape_at(int dimension, const DynamicsProblem& problem, const WeakRecoveryOptions& options);

/// log n = log A + x log d + y log log d by weighted least squares; x = 2 unless `exponent_is_free`.
ScalingFit fit(const std::string& law, bool exponent_is_free, double log_power,
               const std::vector<int>& dimensions, const std::vector<Estimate>& samples);

}  // namespace

WeakRecoveryStudy study_weak_recovery(const DynamicsProblem& problem, const WeakRecoveryOptions& options,
                                      const std::function<void(const EscapeAt&)>& report) {
  require(options);
  WeakRecoveryStudy study;
  study.verdict = recovery_verdict(problem, options.start);
  std::vector<int> dimensions;
  std::vector<Estimate> samples;
  for (int dimension : options.dimensions) {
    const EscapeAt escape = escape_at(dimension, problem, options);
    if (options.stop.requested()) {
      study.outcome = Outcome::interrupted;
      break;
    }
    study.escapes.push_back(escape);
    if (escape.diverged > 0) study.outcome = Outcome::diverged;
    if (escape.escaped == escape.seeds && escape.samples.se > 0) {
      dimensions.push_back(dimension);
      samples.push_back(escape.samples);
    }
    if (report) report(escape);
    if (options.progress) {
      options.progress({"dimensions", static_cast<double>(study.escapes.size()),
                        static_cast<double>(options.dimensions.size())});
    }
  }
  if (dimensions.size() > 1) study.fits = fit_escape_samples(dimensions, samples);
  return study;
}

RecoveryVerdict recovery_verdict(const DynamicsProblem& problem, double start) {
  const dynamics::PopulationLoss loss(problem.model);
  const int heads = problem.model.heads;
  Eigen::VectorXd trace = Eigen::VectorXd::Zero(heads);
  if (problem.parametrization == Parametrization::tied) trace.setConstant(start);
  if (problem.parametrization == Parametrization::untied) trace.setConstant(2 * start);
  const dynamics::WeakRecovery found = dynamics::weak_recovery(
      loss, mean_start(problem, start, lab::DirectStart::gaussian), problem.parametrization, trace);
  Eigen::Index student = 0;
  Eigen::Index teacher = 0;
  found.cross_gradient.cwiseAbs().maxCoeff(&student, &teacher);
  return {{found.cross_gradient(student, teacher), found.se(student, teacher)},
          found.speed(student, teacher),
          found.recovers};
}

std::vector<ScalingFit> fit_escape_samples(const std::vector<int>& dimensions,
                                           const std::vector<Estimate>& samples) {
  if (dimensions.size() < 2 || dimensions.size() != samples.size()) {
    throw InvalidParameter("dimensions", static_cast<double>(dimensions.size()),
                           "a fit needs two or more, each with its samples");
  }
  for (const Estimate& n : samples) {
    if (!(n.value > 0 && n.se > 0)) {
      throw InvalidParameter("samples", n.value, "must be > 0 with a standard error > 0");
    }
  }
  return {fit("A d^2 log d", false, 1, dimensions, samples), fit("A d^2", false, 0, dimensions, samples),
          fit("A d^x", true, 0, dimensions, samples)};
}

Json to_json(const DynamicsProblem& problem, const WeakRecoveryOptions& options,
             const WeakRecoveryStudy& study) {
  Json json;
  json["parametrization"] = to_string(problem.parametrization);
  json["activation"] = to_string(problem.model.architecture);
  json["threshold"] = options.threshold;
  json["start"] = options.start;
  json["step_noise"] = options.step_noise;
  json["step_rule"] = to_string(options.rule);
  put(json, "cross_gradient", study.verdict.cross_gradient);
  json["speed"] = study.verdict.speed;
  json["recovers"] = study.verdict.recovers;
  json["escapes"] = Json::array();
  for (const EscapeAt& escape : study.escapes) {
    Json one{{"dimension", escape.dimension}};
    put(one, "time", escape.time);
    put(one, "samples", escape.samples);
    one["median_time"] = escape.median_time;
    one["escaped"] = escape.escaped;
    one["diverged"] = escape.diverged;
    one["seeds"] = escape.seeds;
    one["alignment"] = escape.alignment;
    json["escapes"].push_back(one);
  }
  json["fits"] = Json::array();
  for (const ScalingFit& law : study.fits) {
    Json one{{"law", law.law}};
    put(one, "amplitude", law.amplitude);
    put(one, "exponent", law.exponent);
    one["chi2"] = law.chi2;
    one["degrees"] = law.degrees;
    one["aic"] = law.aic;
    json["fits"].push_back(one);
  }
  json["outcome"] = describe(study.outcome);
  json["version"] = version;
  return json;
}

std::string to_string(StepRule rule) {
  return rule == StepRule::constant ? "constant" : "logarithmic";
}

StepRule parse_step_rule(const std::string& name) {
  return parse_choice("step_rule", name, {StepRule::constant, StepRule::logarithmic});
}

namespace {

void require(const WeakRecoveryOptions& options) {
  const auto positive = [](const char* name, double value) {
    if (!(value > 0) || !std::isfinite(value)) throw InvalidParameter(name, value, "must be > 0 and finite");
  };
  positive("step_noise", options.step_noise);
  positive("time", options.time);
  if (options.seeds < 1) throw InvalidParameter("seeds", options.seeds, "must be >= 1");
  if (options.batch < 0) throw InvalidParameter("batch", options.batch, "must be >= 0 (0: the dimension)");
  int before = 1;
  for (int dimension : options.dimensions) {
    if (dimension <= before) throw InvalidParameter("dimensions", dimension, "must be >= 2 and ascend");
    before = dimension;
  }
}

EscapeAt escape_at(int dimension, const DynamicsProblem& problem, const WeakRecoveryOptions& options) {
  DynamicsProblem at = problem;
  at.dimension = dimension;
  const double nu = options.step_noise / (options.rule == StepRule::constant ? 1 : std::log(dimension));
  lab::OnlineSgdOptions descent;
  descent.parametrization = problem.parametrization;
  descent.kappa = problem.kappa;
  descent.start = options.start;
  descent.batch = options.batch > 0 ? options.batch : dimension;
  descent.step = nu * descent.batch / dimension;
  descent.times = {options.time};
  descent.thresholds = {options.threshold};
  descent.stop_at_last_escape = true;
  descent.loss_samples = 2;
  descent.precision = options.precision;
  descent.stop = options.stop;
  const std::vector<lab::OnlineRun> runs = lab::online_sgd_runs(
      problem.model, [&](std::uint64_t seed) { return draw_teachers(at, seed); }, descent, options.first_seed,
      options.seeds);

  EscapeAt result;
  result.dimension = dimension;
  result.seeds = options.seeds;
  std::vector<double> times;
  std::vector<double> samples;
  std::vector<double> left;
  for (const lab::OnlineRun& run : runs) {
    if (run.outcome == Outcome::diverged) ++result.diverged;
    for (const lab::OnlinePoint& point : run.points) left.push_back(std::abs(point.centred_alignment));
    if (!std::isfinite(run.escapes.front().time)) continue;
    times.push_back(run.escapes.front().time);
    samples.push_back(run.escapes.front().samples);
  }
  result.escaped = static_cast<int>(times.size());
  result.time = times.empty() ? Estimate{unknown, unknown} : mean_and_error(times);
  result.samples = samples.empty() ? Estimate{unknown, unknown} : mean_and_error(samples);
  result.alignment = left.empty() ? unknown : mean_and_error(left).value;
  std::ranges::sort(times);
  result.median_time =
      times.empty() ? unknown : (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  return result;
}

ScalingFit fit(const std::string& law, bool exponent_is_free, double log_power,
               const std::vector<int>& dimensions, const std::vector<Estimate>& samples) {
  const auto points = std::ssize(dimensions);
  const int parameters = exponent_is_free ? 2 : 1;

  Eigen::MatrixXd design(points, parameters);
  Eigen::VectorXd target(points);
  for (std::ptrdiff_t i = 0; i < points; ++i) {
    const double weight = samples[i].value / samples[i].se;
    const double log_d = std::log(dimensions[i]);
    const double given = (exponent_is_free ? 0 : 2 * log_d) + log_power * std::log(log_d);
    design(i, 0) = weight;
    if (exponent_is_free) design(i, 1) = weight * log_d;
    target[i] = weight * (std::log(samples[i].value) - given);
  }
  const Eigen::MatrixXd covariance = (design.transpose() * design).inverse();
  const Eigen::VectorXd found = covariance * (design.transpose() * target);
  ScalingFit result;
  result.law = law;
  result.amplitude = {std::exp(found[0]), std::exp(found[0]) * std::sqrt(covariance(0, 0))};
  result.exponent = exponent_is_free ? Estimate{found[1], std::sqrt(covariance(1, 1))} : Estimate{2, 0};
  result.chi2 = (target - design * found).squaredNorm();
  result.degrees = static_cast<int>(points) - parameters;
  result.aic = result.chi2 + 2 * parameters;
  return result;
}

}  // namespace
}  // namespace qklab::experiment
