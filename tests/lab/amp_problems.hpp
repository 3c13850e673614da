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
  test::Variations problems(base);
  problems.add("tied", [](Problem&) {});
  problems.add("tied_noisy", [](Problem& p) {
    p.noise_in = 0.3;
    p.noise_out = 0.05;
  });
  problems.add("tied_three_tokens", [](Problem& p) {
    p.tokens = 3;
    p.noise_in = 0.2;
  });
  problems.add("tied_narrow", [](Problem& p) { p.kappa = 0.75; });  // the threshold leaves less
  problems.add("tied_identity1", [](Problem& p) {
    test::make_identity(p, 1);
    p.noise_in = 0.3;
    p.lambda = 0.5;
  });
  problems.add("tied_identity3", [](Problem& p) {
    test::make_identity(p, 3);
    p.noise_out = 0.5;
    p.lambda = 0.5;
  });
  problems.add("direct", [](Problem& p) {
    p.parametrization = Parametrization::direct;
    p.noise_in = 0.3;
  });
  problems.add("direct_identity1", [](Problem& p) {
    p.parametrization = Parametrization::direct;
    test::make_identity(p, 1);
    p.noise_out = 0.3;
    p.lambda = 0.5;
  });
  problems.add("untied_identity1", [](Problem& p) {
    p.parametrization = Parametrization::untied;
    test::make_identity(p, 1);
    p.noise_out = 0.3;
    p.lambda = 0.5;
  });
  return problems.all();
}

}  // namespace qklab::lab
