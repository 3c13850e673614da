#include "dynamics_theory.hpp"

#include <algorithm>

#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied_flow.hpp"
#include "qklab/dynamics/tied_truncated.hpp"
#include "qklab/lab/escape.hpp"

namespace qklab::experiment {
namespace {

dynamics::SymmetricLoss symmetric_loss(const DynamicsProblem& problem, const DiscreteLaw& teacher) {
  return {*symmetric_sample_loss(problem.model), moment(teacher, 2)};
}

/// Points of a trajectory, with the constant that noise on the labels adds to the loss.
std::vector<DynamicsPoint> points_of(const dynamics::Trajectory& trajectory, const DynamicsProblem& problem,
                                     const DynamicsOptions& options, double q0, double t0) {
  const double noise = problem.model.noise_out * problem.model.output_count();
  const double d = problem.dimension;
  std::vector<DynamicsPoint> points;
  for (const dynamics::TrajectoryPoint& from : trajectory.points) {
    DynamicsPoint point;
    point.time = from.time;
    point.samples = from.time * d * options.batch / options.step;
    point.overlap = from.overlap;
    point.self_overlap = from.self_overlap;
    point.trace = from.trace;
    point.alignment = from.alignment;
    point.centred_alignment.value =
        lab::centred_alignment(from.overlap.value, from.self_overlap.value, from.trace.value, q0, t0);
    point.loss = {from.loss.value + noise, from.loss.se};
    points.push_back(point);
  }
  return points;
}

}  // namespace

std::optional<dynamics::SampleLoss> symmetric_sample_loss(const AttentionIndexedModel& model) {
  using Entries = dynamics::SampleLoss::Entries;
  if (model.heads != 1 || model.teacher_heads != 1 || !model.centred) return std::nullopt;
  if (!model.covariance.isIdentity(0) || model.beta != model.teacher_beta) return std::nullopt;
  dynamics::SampleLoss loss;
  loss.tokens = model.tokens;
  if (model.architecture == Architecture::softmax) {
    loss.beta = model.beta;
    return loss;
  }
  loss.activation = Activation::identity;
  if (model.architecture == Architecture::linear || model.architecture == Architecture::denoising) {
    return loss;
  }
  const bool single_index = model.architecture == Architecture::h1 ||
                            model.architecture == Architecture::h2 || model.architecture == Architecture::h3;
  if (!single_index || model.series != model.teacher_series) return std::nullopt;
  if (model.tokens > 1) loss.entries = Entries::one_pair;
  loss.tokens = std::min(model.tokens, 2);
  const std::array<double, 3> degrees[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Activation activations[] = {Activation::identity, Activation::hermite2, Activation::hermite3};
  for (int k = 0; k < 3; ++k) {
    if (model.series != degrees[k]) continue;
    loss.activation = activations[k];
    return loss;
  }
  return std::nullopt;
}

MethodRun follow_theory(Method method, const DynamicsProblem& problem, const DynamicsOptions& options,
                        const std::vector<double>& times) {
  DiscreteLaw teacher = teacher_nodes(problem);
  const double q0 = moment(teacher, 2);
  const double t0 = moment(teacher, 1);
  MethodRun run;
  run.method = method;
  run.teacher_self_overlap = q0;
  run.teacher_trace = t0;
  if (method == Method::truncated) {
    run.order = options.order;
    teacher = dynamics::truncated_law(teacher, options.order);
  }
  const dynamics::SymmetricLoss loss = symmetric_loss(problem, teacher);
  dynamics::FlowOptions flow;
  flow.weight_decay = options.weight_decay;
  flow.stop = options.stop;
  const dynamics::Trajectory trajectory =
      dynamics::tied_flow(loss, teacher, {options.start, problem.kappa}, times, flow);
  run.points = points_of(trajectory, problem, options, q0, t0);
  run.outcome = trajectory.outcome;
  run.trusted_until = trajectory.trusted_until;
  return run;
}

}  // namespace qklab::experiment
