#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "problems.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/matrix/matrix.hpp"
#include "qklab/lab/student/parameters.hpp"

namespace qklab::lab {

using test::NamedProblem;

/// Small problems that cover activations, numbers of tokens, tasks, widths and noises.
inline std::vector<NamedProblem> small_problems() {
  Problem base;
  base.dimension = 13;
  base.alpha = 1.3;
  base.lambda = 0.07;
  test::Variations problems(base);
  problems.add("softmax2", [](Problem&) {});
  problems.add("softmax3_noisy", [](Problem& p) {
    p.tokens = 3;
    p.beta = 1.7;
    p.noise_in = 0.4;
    p.noise_out = 0.1;
  });
  problems.add("softmax5_narrow", [](Problem& p) {
    p.tokens = 5;
    p.kappa = 0.3;
  });
  problems.add("softmax2_wide", [](Problem& p) {
    p.kappa = 2.1;
    p.noise_in = 0.2;
  });
  problems.add("identity1", [](Problem& p) {
    test::make_identity(p, 1);
    p.noise_in = 0.1;
    p.noise_out = 0.3;
  });
  problems.add("identity3", [](Problem& p) {
    test::make_identity(p, 3);
    p.noise_out = 0.2;
  });
  problems.add("seq2seq_softmax2", [](Problem& p) { p.task = Task::seq2seq; });
  problems.add("seq2seq_softmax3_noisy", [](Problem& p) {
    p.task = Task::seq2seq;
    p.tokens = 3;
    p.noise_in = 0.4;
    p.noise_out = 0.1;
  });
  problems.add("seq2seq_identity1", [](Problem& p) {
    p.task = Task::seq2seq;
    test::make_identity(p, 1);
    p.noise_out = 0.1;
  });
  problems.add("seq2seq_identity2_narrow", [](Problem& p) {
    p.task = Task::seq2seq;
    p.activation = Activation::identity;
    p.kappa = 0.5;
  });
  return problems.all();
}

/// `problems` with each parametrization, the tied ones under their own names. A direct student has no width.
inline std::vector<NamedProblem> with_every_parametrization(const std::vector<NamedProblem>& problems) {
  std::vector<NamedProblem> result = problems;
  for (NamedProblem named : problems) {
    named.problem.parametrization = Parametrization::untied;
    result.push_back({named.name + "_untied", named.problem});
    if (named.problem.kappa != 1) continue;
    named.problem.parametrization = Parametrization::direct;
    result.push_back({named.name + "_direct", named.problem});
  }
  return result;
}

/// Parameters with iid N(0, v) entries, v = 1/sqrt(p d) for a d x p matrix.
inline Matrix gaussian_parameters(const Problem& problem, std::uint64_t index) {
  Matrix parameters(problem.dimension, parameter_columns(problem));
  RandomStream stream(7, Purpose::probe, index);
  for (double& entry : parameters.reshaped()) entry = stream.normal();
  return parameters / std::pow(static_cast<double>(parameters.size()), 0.25);
}

inline std::span<const double> entries(const Matrix& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

}  // namespace qklab::lab
