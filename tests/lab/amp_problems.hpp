#pragma once

#include <vector>

#include "lab/training_problems.hpp"

namespace qklab::lab {

/// Problems of every student that message passing takes, each with one minimiser in S.
inline std::vector<NamedProblem> amp_problems() {
  Problem base;
  base.dimension = 24;
  base.alpha = 1;
  base.lambda = 0.1;
  std::vector<NamedProblem> problems;
  const auto add = [&](const char* name, auto&& change) {
    NamedProblem named{name, base};
    change(named.problem);
    problems.push_back(named);
  };
  add("tied", [](Problem&) {});
  add("tied_noisy", [](Problem& p) {
    p.noise_in = 0.3;
    p.noise_out = 0.05;
  });
  add("tied_three_tokens", [](Problem& p) {
    p.tokens = 3;
    p.noise_in = 0.2;
  });
  add("tied_narrow", [](Problem& p) { p.kappa = 0.75; });  // the threshold leaves less
  add("tied_identity1", [](Problem& p) {
    p.activation = Activation::identity;
    p.tokens = 1;
    p.noise_in = 0.3;
    p.lambda = 0.5;
  });
  add("tied_identity3", [](Problem& p) {
    p.activation = Activation::identity;
    p.tokens = 3;
    p.noise_out = 0.5;
    p.lambda = 0.5;
  });
  add("direct", [](Problem& p) {
    p.parametrization = Parametrization::direct;
    p.noise_in = 0.3;
  });
  add("direct_identity1", [](Problem& p) {
    p.parametrization = Parametrization::direct;
    p.activation = Activation::identity;
    p.tokens = 1;
    p.noise_out = 0.3;
    p.lambda = 0.5;
  });
  add("untied_identity1", [](Problem& p) {
    p.parametrization = Parametrization::untied;
    p.activation = Activation::identity;
    p.tokens = 1;
    p.noise_out = 0.3;
    p.lambda = 0.5;
  });
  return problems;
}

}  // namespace qklab::lab
