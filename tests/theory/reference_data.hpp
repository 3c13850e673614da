#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "qklab/core/problem.hpp"

namespace qklab::theory {

inline nlohmann::json reference_points() {
  std::ifstream file(std::string(QKLAB_TEST_DATA) + "/erm-reference.json");
  if (!file) throw std::runtime_error("tests/data/erm-reference.json is missing");
  return nlohmann::json::parse(file);
}

/// The problem that an `input` object of the reference file states.
inline Problem problem_of(const nlohmann::json& input) {
  Problem problem;
  problem.alpha = input.at("alpha");
  problem.tokens = input.at("tokens");
  problem.activation = parse_activation(input.at("activation"));
  problem.beta = input.at("beta");
  problem.noise_in = input.at("noise_in");
  problem.noise_out = input.at("noise_out");
  problem.kappa = input.at("kappa");
  problem.lambda = input.at("lambda");
  problem.parametrization = parse_parametrization(input.at("parametrization"));
  if (input.at("teacher") == "power-law") {
    problem.teacher = PowerLawTeacher{input.at("gamma"), 0};
    problem.dimension = input.at("dimension");
  } else {
    problem.teacher = WishartTeacher{input.at("kappa0")};
  }
  return problem;
}

}  // namespace qklab::theory
