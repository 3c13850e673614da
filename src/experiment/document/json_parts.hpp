#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "qklab/core/standard_error.hpp"
#include "qklab/experiment/document/document.hpp"

namespace qklab::experiment {

/// name: value, name_se: error.
inline void put(Json& json, const std::string& name, const Estimate& estimate) {
  json[name] = estimate.value;
  json[name + "_se"] = estimate.se;
}

/// {mean, se} of trained runs.
inline Json estimate_json(const Estimate& estimate) {
  return {{"mean", estimate.value}, {"se", estimate.se}};
}

}  // namespace qklab::experiment
