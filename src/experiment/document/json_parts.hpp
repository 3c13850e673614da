#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "qklab/core/sobol.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/experiment/document/document.hpp"

namespace qklab::experiment {

/// name: value, name_se: error.
inline void put(Json& json, const std::string& name, const Estimate& estimate) {
  json[name] = estimate.value;
  json[name + "_se"] = estimate.se;
}

/// How the expectations of theory were sampled.
inline void put_sampling(Json& json, const QmcOptions& qmc) {
  json["log2_points"] = qmc.log2_points;
  json["scramblings"] = qmc.scramblings;
  json["seed"] = qmc.seed;
}

/// {mean, se} of trained runs.
inline Json estimate_json(const Estimate& estimate) {
  return {{"mean", estimate.value}, {"se", estimate.se}};
}

}  // namespace qklab::experiment
