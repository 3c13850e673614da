#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiment/document/json_parts.hpp"
#include "qklab/experiment/learning/dynamics.hpp"

namespace qklab::experiment {
namespace {

void put_series(Json& json, const char* name, const std::vector<DynamicsPoint>& points,
                Estimate DynamicsPoint::*quantity, bool with_errors) {
  Json values = Json::array();
  Json errors = Json::array();
  for (const DynamicsPoint& point : points) {
    values.push_back((point.*quantity).value);
    errors.push_back((point.*quantity).se);
  }
  json[name] = values;
  if (with_errors) json[std::string(name) + "_se"] = errors;
}

void put_problem(Json& json, const DynamicsProblem& problem) {
  const AttentionIndexedModel& model = problem.model;
  json["activation"] = to_string(model.architecture);
  json["tokens"] = model.tokens;
  json["beta"] = model.beta;
  if (model.heads > 1 || model.teacher_heads > 1) {
    json["heads"] = model.heads;
    json["teacher_heads"] = model.teacher_heads;
  }
  json["centred"] = model.centred;
  json["noise_out"] = model.noise_out;
  Problem teacher;
  teacher.teacher = problem.teacher;
  teacher.dimension = problem.dimension;
  const Json of_teacher = to_json(teacher);
  for (const char* name : {"teacher", "kappa0", "gamma", "modes", "spectrum"}) {
    if (of_teacher.contains(name)) json[name] = of_teacher[name];
  }
  json["traceless"] = problem.traceless;
  json["parametrization"] = to_string(problem.parametrization);
  json["kappa"] = problem.kappa;
  json["dimension"] = problem.dimension;
}

}  // namespace

Json to_json(const DynamicsProblem& problem, const DynamicsOptions& options, const MethodRun& run) {
  Json json;
  json["method"] = to_string(run.method);
  if (run.order > 0) json["order"] = run.order;
  const bool with_errors = run.seeds > 0;
  json["time"] = Json::array();
  json["samples"] = Json::array();
  for (const DynamicsPoint& point : run.points) {
    json["time"].push_back(point.time);
    json["samples"].push_back(point.samples);
  }
  put_series(json, "overlap", run.points, &DynamicsPoint::overlap, with_errors);
  put_series(json, "self_overlap", run.points, &DynamicsPoint::self_overlap, with_errors);
  put_series(json, "trace", run.points, &DynamicsPoint::trace, with_errors);
  if (!problem.model.centred) {
    put_series(json, "score_mean", run.points, &DynamicsPoint::score_mean, with_errors);
  }
  put_series(json, "alignment", run.points, &DynamicsPoint::alignment, with_errors);
  put_series(json, "centred_alignment", run.points, &DynamicsPoint::centred_alignment, with_errors);
  put_series(json, "loss", run.points, &DynamicsPoint::loss, true);
  json["escape"] = Json::object();
  for (const MeanEscape& escape : run.escapes) {
    Json one;
    put(one, "time", escape.time);
    put(one, "samples", escape.samples);
    one["escaped"] = escape.escaped;
    json["escape"][fmt::format("{:g}", escape.threshold)] = one;
  }
  json["teacher_self_overlap"] = run.teacher_self_overlap;
  json["teacher_trace"] = run.teacher_trace;
  if (std::isfinite(run.trusted_until)) json["trusted_until"] = run.trusted_until;
  json["seeds"] = run.seeds;
  json["diverged"] = run.diverged;
  if (options.spectra && !run.runs.empty()) {
    json["eigenvalues"] = Json::array();
    for (const lab::OnlineRun& one : run.runs) {
      Json of_run = Json::array();
      for (const lab::OnlinePoint& point : one.points) of_run.push_back(point.eigenvalues);
      json["eigenvalues"].push_back(of_run);
    }
  }
  put_problem(json, problem);
  json["start"] = options.start;
  if (problem.parametrization == Parametrization::direct) {
    json["direct_start"] = to_string(options.direct_start);
  }
  json["step"] = options.step;
  json["batch"] = options.batch;
  json["weight_decay"] = options.weight_decay;
  json["step_noise"] = options.step_noise;
  json["seed"] = options.first_seed;
  json["seconds"] = run.seconds;
  json["converged"] = is_answer(run.outcome);
  json["outcome"] = describe(run.outcome);
  json["version"] = version;
  return json;
}

}  // namespace qklab::experiment
