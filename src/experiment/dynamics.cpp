#include "qklab/experiment/dynamics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "dynamics_theory.hpp"
#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied_truncated.hpp"
#include "qklab/lab/escape.hpp"
#include "qklab/lab/teacher.hpp"

namespace qklab::experiment {
namespace {

MethodRun follow_descent(const DynamicsProblem& problem, const DynamicsOptions& options);
MethodRun follow_with_escapes(Method method, const DynamicsProblem& problem, const DynamicsOptions& options);

/// The means over the runs of every time that one of them reached.
std::vector<DynamicsPoint> mean_points(const std::vector<const lab::OnlineRun*>& runs);
std::vector<MeanEscape> mean_escapes(const std::vector<const lab::OnlineRun*>& runs,
                                     const std::vector<double>& thresholds);

lab::OnlineSgdOptions descent_options(const DynamicsProblem& problem, const DynamicsOptions& options);
Problem teacher_problem(const DynamicsProblem& problem);

/// The times asked for and others so close that escapes can be read off.
std::vector<double> fine_times(const std::vector<double>& times);

}  // namespace

bool follow(const DynamicsProblem& problem, const std::vector<Method>& methods,
            const DynamicsOptions& options, const std::function<void(const MethodRun&)>& report) {
  for (Method method : methods) require_method(method, problem, options);
  for (Method method : methods) {
    const auto begin = std::chrono::steady_clock::now();
    MethodRun run = method == Method::sgd ? follow_descent(problem, options)
                                          : follow_with_escapes(method, problem, options);
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
  switch (method) {
    case Method::sgd:
      return;
    case Method::exact:
    case Method::truncated:
      needs(Parametrization::tied);
      if (!symmetric_sample_loss(problem.model)) {
        throw InvalidParameter("method", to_string(method),
                               "knows one head of softmax, linear, h1, h2, h3 or denoising on independent "
                               "tokens with centred scores");
      }
      return;
    default:
      throw InvalidParameter("method", to_string(method), "must be one of sgd, exact, truncated");
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
    case Method::untied:
      return "untied";
  }
  return "unknown";
}

Method parse_method(const std::string& name) {
  return parse_choice("method", name,
                      {Method::sgd, Method::exact, Method::truncated, Method::words, Method::flow,
                       Method::direct, Method::untied});
}

namespace {

MethodRun follow_descent(const DynamicsProblem& problem, const DynamicsOptions& options) {
  MethodRun run;
  run.method = Method::sgd;
  run.trusted_until = std::numeric_limits<double>::infinity();
  run.runs = lab::online_sgd_runs(
      problem.model, [&](std::uint64_t seed) { return draw_teachers(problem, seed); },
      descent_options(problem, options), options.first_seed, options.seeds);
  std::vector<const lab::OnlineRun*> complete;
  for (const lab::OnlineRun& one : run.runs) {
    run.teacher_self_overlap += one.teacher_self_overlap / options.seeds;
    run.teacher_trace += one.teacher_trace / options.seeds;
    if (is_answer(run.outcome)) run.outcome = one.outcome;
    if (one.outcome == Outcome::diverged) {
      ++run.diverged;
    } else {
      complete.push_back(&one);
    }
  }
  run.seeds = static_cast<int>(complete.size());
  if (complete.empty()) {
    for (const lab::OnlineRun& one : run.runs) complete.push_back(&one);
  }
  run.points = mean_points(complete);
  run.escapes = mean_escapes(complete, options.thresholds);
  return run;
}

MethodRun follow_with_escapes(Method method, const DynamicsProblem& problem, const DynamicsOptions& options) {
  MethodRun run = follow_theory(method, problem, options, fine_times(options.times));
  lab::EscapeWatch watch(options.thresholds, run.teacher_self_overlap, run.teacher_trace);
  for (const DynamicsPoint& point : run.points) {
    watch.see(point.time, point.overlap.value, point.self_overlap.value, point.trace.value);
  }
  const double samples_a_time = problem.dimension * options.batch / options.step;
  for (const lab::Escape& escape : watch.escapes()) {
    const bool escaped = std::isfinite(escape.time);
    const double time = escaped ? escape.time : std::numeric_limits<double>::quiet_NaN();
    run.escapes.push_back({escape.threshold, {time, 0}, {time * samples_a_time, 0}, escaped ? 1.0 : 0.0});
  }
  std::erase_if(run.points, [&](const DynamicsPoint& point) {
    return !std::ranges::binary_search(options.times, point.time);
  });
  return run;
}

std::vector<DynamicsPoint> mean_points(const std::vector<const lab::OnlineRun*>& runs) {
  std::size_t longest = 0;
  for (const lab::OnlineRun* run : runs) longest = std::max(longest, run->points.size());
  std::vector<DynamicsPoint> points;
  for (std::size_t i = 0; i < longest; ++i) {
    std::vector<lab::OnlinePoint> at_time;
    for (const lab::OnlineRun* run : runs) {
      if (i < run->points.size()) at_time.push_back(run->points[i]);
    }
    const auto mean = [&](auto&& quantity) {
      std::vector<double> values;
      for (const lab::OnlinePoint& point : at_time) values.push_back(quantity(point));
      return mean_and_error(values);
    };
    DynamicsPoint point;
    point.time = at_time.front().time;
    point.samples = at_time.front().samples;
    point.overlap = mean([](const auto& p) { return p.overlap; });
    point.self_overlap = mean([](const auto& p) { return p.self_overlap; });
    point.trace = mean([](const auto& p) { return p.trace; });
    point.alignment = mean([](const auto& p) { return p.alignment; });
    point.centred_alignment = mean([](const auto& p) { return p.centred_alignment; });
    point.loss = at_time.size() > 1 ? mean([](const auto& p) { return p.loss.value; }) : at_time.front().loss;
    points.push_back(point);
  }
  return points;
}

std::vector<MeanEscape> mean_escapes(const std::vector<const lab::OnlineRun*>& runs,
                                     const std::vector<double>& thresholds) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<MeanEscape> escapes;
  for (std::size_t k = 0; k < thresholds.size(); ++k) {
    std::vector<double> times;
    std::vector<double> samples;
    for (const lab::OnlineRun* run : runs) {
      if (!std::isfinite(run->escapes[k].time)) continue;
      times.push_back(run->escapes[k].time);
      samples.push_back(run->escapes[k].samples);
    }
    const double share = static_cast<double>(times.size()) / static_cast<double>(runs.size());
    escapes.push_back({thresholds[k], times.empty() ? Estimate{unknown, unknown} : mean_and_error(times),
                       times.empty() ? Estimate{unknown, unknown} : mean_and_error(samples), share});
  }
  return escapes;
}

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

Problem teacher_problem(const DynamicsProblem& problem) {
  Problem result;
  result.teacher = problem.teacher;
  result.dimension = problem.dimension;
  return result;
}

std::vector<double> fine_times(const std::vector<double>& times) {
  constexpr double shortest = 1e-4;
  constexpr double spacing = 1.01;
  const double end = times.back();
  std::vector<double> fine = times;
  fine.push_back(0);
  for (double time = shortest * end; time < end; time *= spacing) fine.push_back(time);
  std::ranges::sort(fine);
  const auto repeated = std::ranges::unique(fine);
  fine.erase(repeated.begin(), repeated.end());
  return fine;
}

}  // namespace
}  // namespace qklab::experiment
