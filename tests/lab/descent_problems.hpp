#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lab/training_problems.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/training/descent.hpp"

namespace qklab::lab {

/// A function to minimise, and what is known of its minimum.
struct DescentProblem {
  std::string name;
  DifferentiableFunction function;
  std::vector<double> start;
  double minimum = 0;
  double length_scale = 1;
  double value_scale = 1;
};

/// (1 - x)^2 + 100 (y - x^2)^2 from (-1.2, 1): a bent valley.
inline DescentProblem rosenbrock() {
  const auto function = [](std::span<const double> x, std::span<double> gradient) {
    const double bend = x[1] - x[0] * x[0];
    gradient[0] = -2 * (1 - x[0]) - 400 * x[0] * bend;
    gradient[1] = 200 * bend;
    return (1 - x[0]) * (1 - x[0]) + 100 * bend * bend;
  };
  return {"rosenbrock", function, {-1.2, 1}, 0, 1, 1};
}

/// sum_i c_i (x_i - 1)^2/2 with c from 1 to 1e3, times `scale`.
inline DescentProblem quadratic(double scale) {
  constexpr int size = 30;
  const auto function = [scale](std::span<const double> x, std::span<double> gradient) {
    double value = 0;
    for (int i = 0; i < size; ++i) {
      const double curvature = scale * std::pow(1e3, i / (size - 1.0));
      gradient[i] = curvature * (x[i] - 1);
      value += curvature * (x[i] - 1) * (x[i] - 1) / 2;
    }
    return value;
  };
  return {scale == 1 ? "quadratic" : "scaled_quadratic",
          function,
          std::vector<double>(size, 0.0),
          0,
          std::sqrt(size),
          scale};
}

/// The objective of training at d = 12, whose minimum is not known in closed form (NaN).
template <class Real>
DescentProblem attention_objective(const char* name) {
  Problem problem;
  problem.dimension = 12;
  problem.alpha = 2;
  problem.lambda = 0.05;
  problem.noise_in = 0.3;
  const auto data = std::make_shared<Dataset<Real>>(draw_dataset<Real>(problem, draw_teacher(problem, 1), 1));
  const auto objective = std::make_shared<Objective<Real>>(*data, problem);
  const auto function = [data, objective](std::span<const double> x, std::span<double> gradient) {
    return (*objective)(x, gradient);
  };
  const Matrix start = gaussian_parameters(problem, 1);
  const std::vector<double> zero(entries(start).size(), 0.0);
  std::vector<double> gradient(zero.size());
  return {name,         function,        std::vector<double>(entries(start).begin(), entries(start).end()),
          std::nan(""), std::sqrt(12.0), function(zero, gradient)};
}

inline std::vector<DescentProblem> descent_problems() {
  return {rosenbrock(), quadratic(1), quadratic(1e-9), attention_objective<double>("attention"),
          attention_objective<float>("attention_f32")};
}

}  // namespace qklab::lab
