#include "qklab/experiment/learning/dynamics_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "dynamics_theory.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/description/grid.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::experiment {
namespace {

constexpr int most = std::numeric_limits<int>::max();

std::vector<Architecture> architectures(const Description& description);
std::vector<int> dimensions(const Description& description, const Teacher& teacher);
DynamicsProblem common_part(const Description& description);
AttentionIndexedModel model(const Description& description, Architecture architecture,
                            Parametrization parametrization);
std::array<double, 3> series(const Description& description, const std::string& name);
std::vector<double> times(const Description& description);
std::vector<DynamicsCase::Step> steps(const Description& description, const DynamicsProblem& problem);
/// The method that `theory` stands for.
Method theory_of(const DynamicsProblem& problem);

}  // namespace

DynamicsPlan dynamics_plan(const Description& description) {
  DynamicsPlan plan;
  DynamicsOptions& options = plan.options;
  options.times = times(description);
  options.start = description.number("start");
  options.direct_start = lab::parse_direct_start(description.text("direct_start"));
  options.step = description.number("step");
  options.batch = static_cast<int>(description.whole_number("batch", 1, most));
  options.weight_decay = description.number("weight_decay");
  options.step_noise = description.on("step_noise");
  options.seeds = seeds(description);
  options.first_seed = seed(description);
  options.thresholds = description.numbers("thresholds");
  options.spectra = description.on("spectrum");
  options.precision = lab::parse_precision(description.text("precision"));

  const std::vector<Architecture> all_models = architectures(description);
  const std::vector<std::string> all_parametrizations = parse_names(description.text("parametrization"));
  DynamicsProblem problem = common_part(description);
  const std::vector<int> all_dimensions = dimensions(description, problem.teacher);
  plan.models = static_cast<int>(all_models.size());
  plan.parametrizations = static_cast<int>(all_parametrizations.size());
  plan.dimensions = static_cast<int>(all_dimensions.size());
  for (const Architecture architecture : all_models) {
    for (const std::string& parametrization : all_parametrizations) {
      for (const int dimension : all_dimensions) {
        problem.parametrization = parse_parametrization(parametrization);
        problem.model = model(description, architecture, problem.parametrization);
        problem.dimension = dimension;
        plan.cases.push_back({problem, steps(description, problem)});
        for (const DynamicsCase::Step& step : plan.cases.back().steps) {
          DynamicsOptions of_step = options;
          of_step.order = std::max(step.order, 1);
          require_method(step.method, problem, of_step);
        }
      }
    }
  }
  return plan;
}

WeakRecoveryOptions weak_recovery_plan(const Description& description) {
  WeakRecoveryOptions options;
  options.dimensions = dimensions(description, teacher_of(description));
  const std::vector<double> thresholds = description.numbers("thresholds");
  if (description.given("thresholds")) {
    if (thresholds.size() != 1) {
      throw InvalidParameter("thresholds", description.text("thresholds"),
                             "weak recovery is judged by one threshold");
    }
    options.threshold = thresholds.front();
  }
  options.start = description.number("start");
  options.step_noise = description.number("nu");
  options.rule = parse_step_rule(description.text("step_rule"));
  if (description.given("time")) options.time = description.number("time");
  if (description.given("batch")) {
    options.batch = static_cast<int>(description.whole_number("batch", 1, most));
  }
  if (description.given("seeds")) options.seeds = seeds(description);
  options.first_seed = seed(description);
  options.precision = lab::parse_precision(description.text("precision"));
  for (const char* name : {"method", "times", "order", "step", "weight_decay", "step_noise", "spectrum"}) {
    description.refuse(name, "has no effect with weak_recovery");
  }
  return options;
}

std::vector<Option> dynamics_problem_options() {
  return {
      {"model", "NAMES",
       "softmax, linear, h1, h2, h3, multi-head, two-layer, autoregressive, multi-location, denoising",
       "softmax"},
      {"activation", "softmax|identity|hermite2|hermite3", "the same of softmax, linear, h2, h3", ""},
      {"tokens", "NUMBER", "T, tokens in a sample", "of the model"},
      {"heads", "NUMBER", "K, matrices of the student", "of the model"},
      {"teacher_heads", "NUMBER", "K0, matrices of the teacher", "K"},
      {"beta", "NUMBER", "inverse temperature of the softmax", "1"},
      {"teacher_beta", "NUMBER", "that of the teacher", "beta"},
      {"residual", "NUMBER", "weight of the residual stream of two-layer", "1"},
      {"token_correlation", "NUMBER", "c: tokens have covariance c; autoregressive: c^|i-j|", "0"},
      {"scores", "centred|uncentred", "whether C_ij Tr S/sqrt d is taken from the scores",
       "centred; untied: uncentred"},
      {"series", "A1,A2,A3", "h1, h2, h3: output A1 h1 + A2 h2 + A3 h3 of the score", "of the model"},
      {"teacher_series", "A1,A2,A3", "the same of the teacher", "series"},
      {"noise_out", "NUMBER", "variance of the noise on the labels", "0"},
      {"teacher", "wishart|power-law|spectrum:FILE", "law of the target's eigenvalues", "wishart"},
      {"kappa0", "NUMBER", "rank ratio p0/d of a Wishart teacher", "0.5"},
      {"gamma", "NUMBER", "exponent of a power-law teacher, eigenvalue i^-gamma", "1"},
      {"modes", "NUMBER", "number of modes of a power-law teacher", "d"},
      {"traceless", "", "takes the mean eigenvalue from the teacher", ""},
      {"kappa", "NUMBER", "width ratio p/d of the student", "1"},
      {"parametrization", "tied|direct|untied", "S = W W^T, S itself, or S = U V^T; or a list of them",
       "tied"},
      {"dimension", "NUMBERS", "d", "200"},
  };
}

std::vector<Option> dynamics_options() {
  const DynamicsOptions standard;
  return {
      {"method", "NAMES", "theory, sgd, exact, truncated, words, flow, direct, fast, untied", "theory"},
      {"time", "NUMBER", "end, tau = step d^-1 per step", "4"},
      {"times", "NUMBERS", "tau to report", "41 of equal distance"},
      {"order", "NUMBERS", "M of truncated and words", fmt::format("{}", standard.order)},
      {"start", "NUMBER", "Tr S/d at the start; untied: Tr U U^T/d", fmt::format("{}", standard.start)},
      {"direct_start", "gaussian|product",
       "start of a direct student: knows no sign, or that of the tied one", to_string(standard.direct_start)},
      {"step", "NUMBER", "step size eta of sgd", fmt::format("{}", standard.step)},
      {"batch", "NUMBER", "samples of a step", fmt::format("{}", standard.batch)},
      {"weight_decay", "NUMBER", "g, dW/dtau = ... - g W", fmt::format("{}", standard.weight_decay)},
      {"step_noise", "", "theories take the noise of finite steps along", ""},
      {"seeds", "NUMBER", "runs of sgd and of sampled flows", fmt::format("{}", standard.seeds)},
      {"thresholds", "NUMBERS", "of escape, as fractions of full alignment", "0.1,0.3,0.5"},
      {"precision", "f32|f64", "of the matrix products of sgd", to_string(standard.precision)},
      {"spectrum", "", "report eigenvalues of sgd at each time", ""},
  };
}

std::vector<Option> weak_recovery_options() {
  const WeakRecoveryOptions standard;
  return {
      {"weak_recovery", "", "escape of sgd along d, and how its samples grow", ""},
      {"nu", "NUMBER", "step d/batch: noise of a step", fmt::format("{}", standard.step_noise)},
      {"step_rule", "constant|logarithmic", "nu as it is, or over log d", to_string(standard.rule)},
  };
}

namespace {

std::vector<Architecture> architectures(const Description& description) {
  if (!description.given("activation")) {
    std::vector<Architecture> models;
    for (const std::string& name : parse_names(description.text("model"))) {
      models.push_back(parse_architecture(name));
    }
    return models;
  }
  description.refuse("model", "states the same as activation: give one of them");
  switch (parse_activation(description.text("activation"))) {
    case Activation::softmax:
      return {Architecture::softmax};
    case Activation::identity:
      return {Architecture::linear};
    case Activation::hermite2:
      return {Architecture::h2};
    case Activation::hermite3:
      return {Architecture::h3};
    default:
      throw InvalidParameter("activation", description.text("activation"),
                             "must be one of softmax, identity, hermite2, hermite3");
  }
}

DynamicsProblem common_part(const Description& description) {
  DynamicsProblem problem;
  problem.teacher = teacher_of(description);
  problem.traceless = description.on("traceless");
  problem.kappa = description.number("kappa");
  return problem;
}

std::vector<int> dimensions(const Description& description, const Teacher& teacher) {
  if (const auto* spectrum = std::get_if<SpectrumTeacher>(&teacher);
      spectrum != nullptr && !description.given("dimension")) {
    return {static_cast<int>(spectrum->eigenvalues.size())};
  }
  std::vector<int> all;
  for (double value : description.whole_numbers("dimension")) {
    if (value < 1 || value > most) {
      throw InvalidParameter("dimension", value, fmt::format("must be in 1..{}", most));
    }
    all.push_back(static_cast<int>(value));
  }
  return all;
}

AttentionIndexedModel model(const Description& description, Architecture architecture,
                            Parametrization parametrization) {
  const auto count = [&](const char* name) {
    return description.given(name) ? static_cast<int>(description.whole_number(name, 1, 1000)) : 0;
  };
  AttentionIndexedOptions options;
  options.tokens = count("tokens");
  options.heads = count("heads");
  options.teacher_heads = count("teacher_heads");
  options.beta = description.number("beta");
  if (description.given("teacher_beta")) options.teacher_beta = description.number("teacher_beta");
  options.residual = description.number("residual");
  options.token_correlation = description.number("token_correlation");
  options.centred = parametrization != Parametrization::untied;
  if (description.given("scores")) {
    const std::string scores = description.text("scores");
    if (scores != "centred" && scores != "uncentred") {
      throw InvalidParameter("scores", scores, "must be one of centred, uncentred");
    }
    options.centred = scores == "centred";
  }
  options.noise_out = description.number("noise_out");
  AttentionIndexedModel model = attention_indexed_model(architecture, options);
  const bool has_series = architecture == Architecture::h1 || architecture == Architecture::h2 ||
                          architecture == Architecture::h3;
  if (!has_series) {
    const std::string reason = "has no effect with model = " + to_string(architecture);
    description.refuse("series", reason);
    description.refuse("teacher_series", reason);
    return model;
  }
  if (description.given("series")) model.series = model.teacher_series = series(description, "series");
  if (description.given("teacher_series")) model.teacher_series = series(description, "teacher_series");
  return checked(model);
}

std::array<double, 3> series(const Description& description, const std::string& name) {
  const std::vector<double> values = description.numbers(name);
  if (values.size() != 3) {
    throw InvalidParameter(name, description.text(name), "must be three numbers, of h1, h2 and h3");
  }
  return {values[0], values[1], values[2]};
}

std::vector<double> times(const Description& description) {
  if (description.given("times")) {
    description.refuse("time", "states the same as times: give one of them");
    std::vector<double> all = description.numbers("times");
    std::ranges::sort(all);
    return all;
  }
  constexpr int intervals = 40;
  const double end = description.number("time");
  if (!(end > 0)) throw InvalidParameter("time", end, "must be > 0");
  std::vector<double> all;
  for (int i = 0; i <= intervals; ++i) all.push_back(end * i / intervals);
  return all;
}

std::vector<DynamicsCase::Step> steps(const Description& description, const DynamicsProblem& problem) {
  std::vector<DynamicsCase::Step> all;
  bool any_order = false;
  for (const std::string& name : parse_names(description.text("method"))) {
    const Method method = name == "theory" ? theory_of(problem) : parse_method(name);
    if (method != Method::truncated && method != Method::words) {
      all.push_back({method, 0});
      continue;
    }
    any_order = true;
    for (double order : description.whole_numbers("order")) {
      if (order < 1 || order > 1000) throw InvalidParameter("order", order, "must be in 1..1000");
      all.push_back({method, static_cast<int>(order)});
    }
  }
  if (!any_order) description.refuse("order", "has no effect without the methods truncated and words");
  return all;
}

Method theory_of(const DynamicsProblem& problem) {
  const bool is_symmetric_pair = symmetric_sample_loss(problem.model).has_value();
  switch (problem.parametrization) {
    case Parametrization::tied:
      return is_symmetric_pair ? Method::exact : Method::flow;
    case Parametrization::direct:
      return Method::direct;
    case Parametrization::untied:
      return Method::untied;
  }
  return Method::flow;
}

}  // namespace
}  // namespace qklab::experiment
