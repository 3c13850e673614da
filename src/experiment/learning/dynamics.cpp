#include "qklab/experiment/learning/dynamics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>

#include "dynamics_theory.hpp"
#include "dynamics_ways.hpp"
#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"
#include "qklab/lab/data/teacher.hpp"

namespace qklab::experiment {
namespace {

std::vector<Way> follow_ways(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
                             std::vector<lab::OnlineRun>& runs);

/// Means over the ways that did not diverge, or over all where all did.
void average(const std::vector<Way>& ways, const std::vector<double>& thresholds, MethodRun& run);
DynamicsPoint mean_point(const std::vector<DynamicsPoint>& points);
MeanEscape mean_escape(const std::vector<lab::Escape>& escapes);

void refuse_step_noise(Method method, const DynamicsOptions& options);
Problem teacher_problem(const DynamicsProblem& problem);

/// The times asked for and others so close that escapes can be read off.
std::vector<double> fine_times(const std::vector<double>& times);

}  // namespace

bool follow(const DynamicsProblem& problem, const std::vector<Method>& methods,
            const DynamicsOptions& options, const std::function<void(const MethodRun&)>& report) {
  for (Method method : methods) require_method(method, problem, options);
  for (Method method : methods) {
    const auto begin = std::chrono::steady_clock::now();
    MethodRun run;
    run.method = method;
    if (method == Method::truncated || method == Method::words) run.order = options.order;
    average(follow_ways(method, problem, options, run.runs), options.thresholds, run);
    if (!has_seeds(method)) run.seeds = 0;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    report(run);
    if (options.stop.requested()) return false;
  }
  return true;
}

void require_method(Method method, const DynamicsProblem& problem, const DynamicsOptions& options) {
  checked(problem.model);
  checked(teacher_problem(problem));
  checked(descent_options(problem, options));
  if (options.seeds < 1) throw InvalidParameter("seeds", options.seeds, "must be >= 1");
  if (options.order < 1) throw InvalidParameter("order", options.order, "must be >= 1");
  const auto needs = [&](Parametrization parametrization) {
    if (problem.parametrization == parametrization) return;
    throw InvalidParameter("method", to_string(method),
                           "follows " + to_string(parametrization) + " students, not " +
                               to_string(problem.parametrization) + " ones");
  };
  if (method != Method::sgd && !problem.model.centred) {
    if (!problem.traceless) {
      throw InvalidParameter("traceless", "false",
                             "theories of uncentred scores need a teacher with Tr S0 of order sqrt d");
    }
    if (problem.parametrization == Parametrization::tied) {
      throw InvalidParameter("centred", "false",
                             "tied students have Tr S of order d and need centred scores");
    }
  }
  switch (method) {
    case Method::sgd:
      return;
    case Method::exact:
    case Method::truncated:
    case Method::words:
      needs(Parametrization::tied);
      if (method == Method::words && (options.order < 2 || options.order > 14)) {
        throw InvalidParameter("order", options.order, "the longest word must be in 2..14");
      }
      if (options.step_noise && problem.model.noise_out > 0) {
        throw InvalidParameter("noise_out", problem.model.noise_out,
                               "theories of tied students take noise of finite steps along without label "
                               "noise alone: must be 0");
      }
      if (!symmetric_sample_loss(problem.model)) {
        throw InvalidParameter("method", to_string(method),
                               "knows one head of softmax, linear, h1, h2, h3 or denoising on independent "
                               "tokens with centred scores");
      }
      return;
    case Method::direct:
      return needs(Parametrization::direct);
    case Method::fast:
    case Method::untied:
      needs(Parametrization::untied);
      return refuse_step_noise(method, options);
    case Method::flow:
      return refuse_step_noise(method, options);
  }
}

std::vector<lab::Matrix> draw_teachers(const DynamicsProblem& problem, std::uint64_t seed) {
  std::vector<lab::Matrix> teachers;
  for (int k = 0; k < problem.model.teacher_heads; ++k) {
    teachers.push_back(
        lab::draw_teacher(teacher_problem(problem), seed + (static_cast<std::uint64_t>(k) << 32)));
    lab::Matrix& teacher = teachers.back();
    if (problem.traceless) teacher.diagonal().array() -= teacher.trace() / problem.dimension;
  }
  return teachers;
}

DiscreteLaw teacher_nodes(const DynamicsProblem& problem) {
  DiscreteLaw law = dynamics::flow_law(teacher_law(teacher_problem(problem)));
  if (problem.traceless) {
    const double mean = moment(law, 1);
    for (double& location : law.locations) location -= mean;
  }
  return law;
}

std::string to_string(Method method) {
  switch (method) {
    case Method::sgd:
      return "sgd";
    case Method::exact:
      return "exact";
    case Method::truncated:
      return "truncated";
    case Method::words:
      return "words";
    case Method::flow:
      return "flow";
    case Method::direct:
      return "direct";
    case Method::fast:
      return "fast";
    case Method::untied:
      return "untied";
  }
  return "unknown";
}

Method parse_method(const std::string& name) {
  return parse_choice("method", name,
                      {Method::sgd, Method::exact, Method::truncated, Method::words, Method::flow,
                       Method::direct, Method::fast, Method::untied});
}

namespace {

std::vector<Way> follow_ways(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
                             std::vector<lab::OnlineRun>& runs) {
  if (method == Method::sgd) {
    runs = lab::online_sgd_runs(
        problem.model, [&](std::uint64_t seed) { return draw_teachers(problem, seed); },
        descent_options(problem, options), options.first_seed, options.seeds);
    std::vector<Way> ways;
    for (const lab::OnlineRun& run : runs) ways.push_back(way_of(run));
    return ways;
  }
  std::vector<Way> ways = theoretical_ways(
      method, problem, options, options.thresholds.empty() ? options.times : fine_times(options.times));
  for (Way& way : ways) {
    std::erase_if(way.points, [&](const DynamicsPoint& point) {
      return !std::ranges::binary_search(options.times, point.time);
    });
  }
  return ways;
}

void average(const std::vector<Way>& ways, const std::vector<double>& thresholds, MethodRun& run) {
  std::vector<const Way*> kept;
  run.trusted_until = std::numeric_limits<double>::infinity();
  for (const Way& way : ways) {
    run.teacher_self_overlap += way.teacher_self_overlap / static_cast<double>(ways.size());
    run.teacher_trace += way.teacher_trace / static_cast<double>(ways.size());
    run.trusted_until = std::min(run.trusted_until, way.trusted_until);
    if (is_answer(run.outcome)) run.outcome = way.outcome;
    if (way.outcome == Outcome::diverged) {
      ++run.diverged;
    } else {
      kept.push_back(&way);
    }
  }
  run.seeds = static_cast<int>(kept.size());
  if (kept.empty())
    std::ranges::transform(ways, std::back_inserter(kept), [](const Way& way) { return &way; });
  std::size_t longest = 0;
  for (const Way* way : kept) longest = std::max(longest, way->points.size());
  for (std::size_t i = 0; i < longest; ++i) {
    std::vector<DynamicsPoint> at_time;
    for (const Way* way : kept) {
      if (i < way->points.size()) at_time.push_back(way->points[i]);
    }
    run.points.push_back(mean_point(at_time));
  }
  for (std::size_t k = 0; k < thresholds.size(); ++k) {
    std::vector<lab::Escape> of_threshold;
    for (const Way* way : kept) of_threshold.push_back(way->escapes[k]);
    run.escapes.push_back(mean_escape(of_threshold));
  }
}

DynamicsPoint mean_point(const std::vector<DynamicsPoint>& points) {
  if (points.size() == 1) return points.front();
  DynamicsPoint mean{points.front().time, points.front().samples, {}, {}, {}, {}, {}, {}, {}};
  for (Estimate DynamicsPoint::*quantity :
       {&DynamicsPoint::overlap, &DynamicsPoint::self_overlap, &DynamicsPoint::trace,
        &DynamicsPoint::score_mean, &DynamicsPoint::alignment, &DynamicsPoint::centred_alignment,
        &DynamicsPoint::loss}) {
    std::vector<double> values;
    for (const DynamicsPoint& point : points) values.push_back((point.*quantity).value);
    mean.*quantity = mean_and_error(values);
  }
  return mean;
}

MeanEscape mean_escape(const std::vector<lab::Escape>& escapes) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> times;
  std::vector<double> samples;
  for (const lab::Escape& escape : escapes) {
    if (!std::isfinite(escape.time)) continue;
    times.push_back(escape.time);
    samples.push_back(escape.samples);
  }
  const double share = static_cast<double>(times.size()) / static_cast<double>(escapes.size());
  return {escapes.front().threshold, times.empty() ? Estimate{unknown, unknown} : mean_and_error(times),
          times.empty() ? Estimate{unknown, unknown} : mean_and_error(samples), share};
}

void refuse_step_noise(Method method, const DynamicsOptions& options) {
  if (!options.step_noise) return;
  throw InvalidParameter("method", to_string(method),
                         "knows no noise of finite steps: it is the flow at vanishing step size");
}

Problem teacher_problem(const DynamicsProblem& problem) {
  Problem result;
  result.teacher = problem.teacher;
  result.dimension = problem.dimension;
  return result;
}

std::vector<double> fine_times(const std::vector<double>& times) {
  constexpr double shortest = 1e-3;
  constexpr double spacing = 1.05;
  const double end = times.back();
  std::vector<double> fine = times;
  fine.push_back(0);
  for (double time = shortest * end; time < end; time *= spacing) fine.push_back(time);
  std::ranges::sort(fine);
  fine.erase(std::unique(fine.begin(), fine.end()), fine.end());
  return fine;
}

}  // namespace

lab::OnlineSgdOptions descent_options(const DynamicsProblem& problem, const DynamicsOptions& options) {
  lab::OnlineSgdOptions descent;
  descent.parametrization = problem.parametrization;
  descent.kappa = problem.kappa;
  descent.start = options.start;
  descent.direct_start = options.direct_start;
  descent.step = options.step;
  descent.batch = options.batch;
  descent.weight_decay = options.weight_decay;
  descent.times = options.times;
  descent.thresholds = options.thresholds;
  descent.spectra = options.spectra;
  descent.precision = options.precision;
  descent.progress = options.progress;
  descent.stop = options.stop;
  return descent;
}

}  // namespace qklab::experiment
