#include "qklab/experiment/document/document.hpp"

#include <nlohmann/json.hpp>
#include <variant>

namespace qklab::experiment {
namespace {

void put_teacher(Json& json, const Problem& problem) {
  if (const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher)) {
    json["teacher"] = "wishart";
    json["kappa0"] = wishart->kappa0;
  } else if (const auto* power_law = std::get_if<PowerLawTeacher>(&problem.teacher)) {
    json["teacher"] = "power-law";
    json["gamma"] = power_law->gamma;
    json["modes"] = power_law->modes == 0 ? problem.dimension : power_law->modes;
  } else {
    const auto& spectrum = std::get<SpectrumTeacher>(problem.teacher);
    json["teacher"] = "spectrum:" + spectrum.source;
    if (spectrum.digest.empty()) {
      json["spectrum"] = spectrum.eigenvalues;
    } else {
      json["spectrum"] = {{"file", spectrum.source}, {"sha1", spectrum.digest}};
    }
  }
}

}  // namespace

Json to_json(const Problem& problem) {
  Json json;
  json["alpha"] = problem.alpha;
  json["tokens"] = problem.tokens;
  json["activation"] = to_string(problem.activation);
  json["beta"] = problem.beta;
  json["task"] = to_string(problem.task);
  json["noise_in"] = problem.noise_in;
  json["noise_out"] = problem.noise_out;
  put_teacher(json, problem);
  json["kappa"] = problem.kappa;
  json["parametrization"] = to_string(problem.parametrization);
  json["lambda"] = problem.lambda;
  json["dimension"] = problem.dimension;
  json["samples"] = sample_count(problem);
  json["width"] = student_width(problem);
  return json;
}

}  // namespace qklab::experiment
