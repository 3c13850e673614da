#include "dynamics_ways.hpp"

#include <cmath>

#include "dynamics_theory.hpp"
#include "qklab/dynamics/hierarchy/words.hpp"
#include "qklab/dynamics/matrix_flow/direct.hpp"
#include "qklab/dynamics/matrix_flow/matrix_flow.hpp"
#include "qklab/dynamics/slow_fast/critical_mean.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"
#include "qklab/dynamics/tied/tied_noise.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace qklab::experiment {
namespace {

/// nu, or 0 where theories leave the noise of steps out.
double step_noise(const DynamicsProblem& problem, const DynamicsOptions& options) {
  return options.step_noise ? options.step * problem.dimension / options.batch : 0;
}

Way tied_way(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
             const std::vector<double>& times);
Way direct_way(const DynamicsProblem& problem, const DynamicsOptions& options,
               const std::vector<double>& times);
Way fast_way(const DynamicsProblem& problem, const DynamicsOptions& options, const std::vector<double>& times,
             std::uint64_t seed);
Way matrix_way(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
               const std::vector<double>& times, std::uint64_t seed);

/// Samples, centred alignments and escapes of a way whose overlaps are there.
void complete(const DynamicsProblem& problem, const DynamicsOptions& options, Way& way);

/// Sums over heads paired by number.
Way way_of(const dynamics::OrderTrajectory& trajectory, const AttentionIndexedModel& model);

std::vector<Eigen::MatrixXd> teachers_of(const DynamicsProblem& problem, std::uint64_t seed);

/// The way with Q0 and t0 of its teachers.
Way with_teachers(Way way, const std::vector<Eigen::MatrixXd>& teachers);

/// W, S or (U, V) of each head of the start of that seed's run of sgd.
std::vector<dynamics::StudentWeights> start_of(const DynamicsProblem& problem, const DynamicsOptions& options,
                                               std::uint64_t seed);

}  // namespace

Way way_of(const lab::OnlineRun& run) {
  Way way;
  for (const lab::OnlinePoint& from : run.points) {
    DynamicsPoint point;
    point.time = from.time;
    point.samples = from.samples;
    point.overlap.value = from.overlap;
    point.self_overlap.value = from.self_overlap;
    point.trace.value = from.trace;
    point.score_mean.value = from.trace * std::sqrt(run.dimension);
    point.alignment.value = from.alignment;
    point.centred_alignment.value = from.centred_alignment;
    point.loss = from.loss;
    way.points.push_back(point);
  }
  way.escapes = run.escapes;
  way.teacher_self_overlap = run.teacher_self_overlap;
  way.teacher_trace = run.teacher_trace;
  way.outcome = run.outcome;
  return way;
}

std::vector<Way> theoretical_ways(Method method, const DynamicsProblem& problem,
                                  const DynamicsOptions& options, const std::vector<double>& times) {
  std::vector<Way> ways;
  const int count = has_seeds(method) ? options.seeds : 1;
  for (int k = 0; k < count && (k == 0 || !options.stop.requested()); ++k) {
    const std::uint64_t seed = options.first_seed + k;
    ways.push_back(method == Method::fast     ? fast_way(problem, options, times, seed)
                   : has_seeds(method)        ? matrix_way(method, problem, options, times, seed)
                   : method == Method::direct ? direct_way(problem, options, times)
                                              : tied_way(method, problem, options, times));
    complete(problem, options, ways.back());
    if (options.progress) {
      options.progress({"runs", static_cast<double>(k + 1), static_cast<double>(count)});
    }
  }
  return ways;
}

dynamics::OrderParameters mean_start(const DynamicsProblem& problem, double start,
                                     lab::DirectStart direct_start) {
  const DiscreteLaw teacher = teacher_nodes(problem);
  const int heads = problem.model.heads;
  const int all = heads + problem.model.teacher_heads;
  const bool untied = problem.parametrization == Parametrization::untied;
  const bool positive = problem.parametrization == Parametrization::tied ||
                        (!untied && direct_start == lab::DirectStart::product);
  const double square = start * start * ((untied ? 0 : 1) + 1 / problem.kappa);
  Eigen::VectorXd trace = Eigen::VectorXd::Constant(all, moment(teacher, 1));
  trace.head(heads).setConstant(positive ? start : 0);
  // Different matrices share their means alone.
  dynamics::OrderParameters parameters{Eigen::VectorXd::Zero(all), trace * trace.transpose(), {}};
  parameters.transposed.diagonal().setConstant(moment(teacher, 2));
  parameters.transposed.diagonal().head(heads).setConstant(square);
  parameters.product = parameters.transposed;
  if (untied) parameters.product.diagonal().head(heads).setZero();
  if (!problem.model.centred && untied) {
    parameters.mean.head(heads).setConstant(start / std::sqrt(problem.kappa * problem.dimension));
  }
  return parameters;
}

bool has_seeds(Method method) {
  return method == Method::sgd || method == Method::flow || method == Method::fast ||
         method == Method::untied;
}

namespace {

dynamics::Trajectory tied_trajectory(Method method, const dynamics::SymmetricLoss& loss,
                                     const DiscreteLaw& teacher, const dynamics::TiedStart& start, double nu,
                                     const std::vector<double>& times, const DynamicsOptions& options) {
  if (method == Method::words) {
    dynamics::WordOptions words;
    words.order = options.order;
    words.weight_decay = options.weight_decay;
    words.nu = nu;
    words.stop = options.stop;
    return dynamics::word_hierarchy(loss, teacher, start, times, words);
  }
  if (nu > 0) {
    dynamics::NoisyFlowOptions flow;
    flow.weight_decay = options.weight_decay;
    flow.stop = options.stop;
    return dynamics::tied_flow_with_noise(loss, teacher, start, nu, times, flow);
  }
  dynamics::FlowOptions flow;
  flow.weight_decay = options.weight_decay;
  flow.stop = options.stop;
  return dynamics::tied_flow(loss, teacher, start, times, flow);
}

Way tied_way(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
             const std::vector<double>& times) {
  DiscreteLaw teacher = teacher_nodes(problem);
  Way way;
  way.teacher_self_overlap = moment(teacher, 2);
  way.teacher_trace = moment(teacher, 1);
  if (method == Method::truncated) teacher = dynamics::truncated_law(teacher, options.order);
  const dynamics::SymmetricLoss loss(*symmetric_sample_loss(problem.model), moment(teacher, 2));
  const dynamics::TiedStart start{options.start, problem.kappa};
  const dynamics::Trajectory trajectory =
      tied_trajectory(method, loss, teacher, start, step_noise(problem, options), times, options);
  // What noise on the labels adds to the loss.
  const double noise = problem.model.noise_out * problem.model.output_count();
  for (const dynamics::TrajectoryPoint& from : trajectory.points) {
    DynamicsPoint point;
    point.time = from.time;
    point.overlap = from.overlap;
    point.self_overlap = from.self_overlap;
    point.trace = from.trace;
    point.score_mean.value = from.trace.value * std::sqrt(problem.dimension);
    point.loss = {from.loss.value + noise, from.loss.se};
    way.points.push_back(point);
  }
  way.outcome = trajectory.outcome;
  way.trusted_until = trajectory.trusted_until;
  return way;
}

Way direct_way(const DynamicsProblem& problem, const DynamicsOptions& options,
               const std::vector<double>& times) {
  const DiscreteLaw teacher = teacher_nodes(problem);
  const double t0 = moment(teacher, 1);
  const int heads = problem.model.heads;
  const int teachers = problem.model.teacher_heads;
  Eigen::VectorXd trace = Eigen::VectorXd::Zero(heads + teachers);
  if (options.direct_start == lab::DirectStart::product) trace.head(heads).setConstant(options.start);
  trace.tail(teachers).setConstant(t0);
  dynamics::DirectOptions flow;
  flow.weight_decay = options.weight_decay;
  flow.step_noise = step_noise(problem, options);
  flow.stop = options.stop;
  Way way = way_of(
      dynamics::direct_flow(dynamics::PopulationLoss(problem.model),
                            mean_start(problem, options.start, options.direct_start), trace, times, flow),
      problem.model);
  way.teacher_self_overlap = moment(teacher, 2) * teachers;
  way.teacher_trace = t0 * teachers;
  return way;
}

Way matrix_way(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
               const std::vector<double>& times, std::uint64_t seed) {
  const std::vector<Eigen::MatrixXd> teachers = teachers_of(problem, seed);
  dynamics::MatrixFlowOptions flow;
  flow.parametrization = problem.parametrization;
  flow.trace_scale = method == Method::untied ? dynamics::TraceScale::critical_manifold
                                              : dynamics::TraceScale::explicit_term;
  flow.weight_decay = options.weight_decay;
  flow.stop = options.stop;
  const dynamics::PopulationLoss loss(problem.model);
  const dynamics::MatrixFlow result =
      dynamics::matrix_flow(loss, start_of(problem, options, seed), teachers, times, flow);
  return with_teachers(way_of(result.trajectory, problem.model), teachers);
}

/// The overlaps stay those of the start: they move by 1/d while mu finds its place.
Way fast_way(const DynamicsProblem& problem, const DynamicsOptions& options, const std::vector<double>& times,
             std::uint64_t seed) {
  const std::vector<Eigen::MatrixXd> teachers = teachers_of(problem, seed);
  std::vector<Eigen::MatrixXd> matrices;
  Eigen::VectorXd rates(problem.model.heads);
  for (const dynamics::StudentWeights& w : start_of(problem, options, seed)) {
    rates[std::ssize(matrices)] = (w.first.squaredNorm() + w.second.squaredNorm()) / problem.dimension;
    matrices.push_back(dynamics::student_matrix(Parametrization::untied, w));
  }
  matrices.insert(matrices.end(), teachers.begin(), teachers.end());
  const dynamics::OrderParameters start = dynamics::order_parameters(matrices);
  std::vector<double> fast_times{0};
  for (double time : times) {
    if (time > 0) fast_times.push_back(time * problem.dimension);
  }
  const dynamics::MeanTrajectory phase =
      dynamics::fast_phase(dynamics::PopulationLoss(problem.model), start, rates, fast_times);
  dynamics::OrderTrajectory trajectory;
  trajectory.outcome = phase.outcome;
  const std::size_t first = times.front() > 0 ? 1 : 0;
  for (std::size_t i = first; i < phase.points.size(); ++i) {
    const dynamics::MeanPoint& at = phase.points[i];
    dynamics::OrderPoint point{times[i - first], start, at.mean / std::sqrt(problem.dimension), at.loss};
    point.parameters.mean.head(problem.model.heads) = at.mean;
    trajectory.points.push_back(point);
  }
  return with_teachers(way_of(trajectory, problem.model), teachers);
}

void complete(const DynamicsProblem& problem, const DynamicsOptions& options, Way& way) {
  const double samples_a_time = problem.dimension * options.batch / options.step;
  lab::EscapeWatch watch(options.thresholds, way.teacher_self_overlap, way.teacher_trace);
  for (DynamicsPoint& point : way.points) {
    const double m = point.overlap.value;
    const double q = point.self_overlap.value;
    const double t1 = point.trace.value;
    point.samples = point.time * samples_a_time;
    const double norm = std::sqrt(q * way.teacher_self_overlap);
    point.alignment.value = norm > 0 ? m / norm : 0;
    point.centred_alignment.value =
        lab::centred_alignment(m, q, t1, way.teacher_self_overlap, way.teacher_trace);
    watch.see(point.time, m, q, t1);
  }
  way.escapes = watch.escapes();
  for (lab::Escape& escape : way.escapes) escape.samples = escape.time * samples_a_time;
}

Way way_of(const dynamics::OrderTrajectory& trajectory, const AttentionIndexedModel& model) {
  Way way;
  way.outcome = trajectory.outcome;
  for (const dynamics::OrderPoint& from : trajectory.points) {
    DynamicsPoint point;
    point.time = from.time;
    point.loss = from.loss;
    for (int k = 0; k < model.heads; ++k) {
      point.self_overlap.value += from.parameters.transposed(k, k);
      point.trace.value += from.trace[k];
      point.score_mean.value += from.parameters.mean[k];
      if (k < model.teacher_heads) point.overlap.value += from.parameters.transposed(k, model.heads + k);
    }
    way.points.push_back(point);
  }
  return way;
}

std::vector<Eigen::MatrixXd> teachers_of(const DynamicsProblem& problem, std::uint64_t seed) {
  const std::vector<lab::Matrix> drawn = draw_teachers(problem, seed);
  return {drawn.begin(), drawn.end()};
}

Way with_teachers(Way way, const std::vector<Eigen::MatrixXd>& teachers) {
  for (const Eigen::MatrixXd& teacher : teachers) {
    const auto d = static_cast<double>(teacher.rows());
    way.teacher_self_overlap += teacher.squaredNorm() / d;
    way.teacher_trace += teacher.trace() / d;
  }
  return way;
}

std::vector<dynamics::StudentWeights> start_of(const DynamicsProblem& problem, const DynamicsOptions& options,
                                               std::uint64_t seed) {
  const lab::Matrix start =
      lab::online_start(descent_options(problem, options), problem.dimension, problem.model.heads, seed);
  const Eigen::Index columns = start.cols() / problem.model.heads;
  std::vector<dynamics::StudentWeights> weights;
  for (int k = 0; k < problem.model.heads; ++k) {
    const Eigen::MatrixXd of_head = start.middleCols(k * columns, columns);
    if (problem.parametrization == Parametrization::untied) {
      weights.push_back({of_head.leftCols(columns / 2), of_head.rightCols(columns / 2)});
    } else {
      weights.push_back({of_head, {}});
    }
  }
  return weights;
}

}  // namespace
}  // namespace qklab::experiment
