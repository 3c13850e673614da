#include "qklab/lab/training/descent.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "lab/descent_problems.hpp"

namespace qklab::lab {
namespace {

using Optimize = Descent (*)(const DifferentiableFunction&, std::span<const double>, const DescentOptions&);

struct NamedOptimizer {
  std::string name;
  Optimize optimize;
};

const std::vector<NamedOptimizer> optimizers = {
    {"lbfgs", minimize_lbfgs}, {"adam", minimize_adam}, {"gradient_descent", minimize_gradient_descent}};

DescentOptions options_for(const DescentProblem& problem) {
  DescentOptions options;
  options.length_scale = problem.length_scale;
  options.value_scale = problem.value_scale;
  options.gradient_tolerance = 1e-5;
  options.max_epochs = 100000;
  if (problem.name == "attention_f32") options.value_rounding = 1e-6;
  return options;
}

double norm(std::span<const double> vector) {
  double sum = 0;
  for (double x : vector) sum += x * x;
  return std::sqrt(sum);
}

class EveryOptimizer : public testing::TestWithParam<NamedOptimizer> {};

TEST_P(EveryOptimizer, ConvergesOnEveryProblem) {
  for (const DescentProblem& problem : descent_problems()) {
    SCOPED_TRACE(problem.name);
    const DescentOptions options = options_for(problem);
    const Descent descent = GetParam().optimize(problem.function, problem.start, options);
    EXPECT_EQ(descent.outcome, Outcome::converged);
    EXPECT_LE(descent.epochs, options.max_epochs);
    RecordProperty(problem.name, static_cast<int>(descent.epochs));
    std::vector<double> gradient(problem.start.size());
    EXPECT_EQ(problem.function(descent.point, gradient), descent.value);
    EXPECT_DOUBLE_EQ(norm(gradient), descent.gradient_norm);
    EXPECT_LE(norm(gradient) * std::max(problem.length_scale, norm(descent.point)),
              options.gradient_tolerance * problem.value_scale);
    if (!std::isnan(problem.minimum)) {
      EXPECT_NEAR(descent.value, problem.minimum, 1e-8 * problem.value_scale);
    }
  }
}

TEST_P(EveryOptimizer, DoesNotSeeTheScaleOfTheFunction) {
  const DescentProblem plain = quadratic(1);
  const DescentProblem scaled = quadratic(0x1p-30);
  const Descent descent = GetParam().optimize(plain.function, plain.start, options_for(plain));
  const Descent again = GetParam().optimize(scaled.function, scaled.start, options_for(scaled));
  EXPECT_EQ(again.outcome, Outcome::converged);
  EXPECT_NEAR(static_cast<double>(again.epochs), static_cast<double>(descent.epochs),
              0.1 * static_cast<double>(descent.epochs));
}

TEST_P(EveryOptimizer, KeepsTheBudget) {
  DescentProblem problem = rosenbrock();
  long calls = 0;
  const DifferentiableFunction counted = [&](std::span<const double> x, std::span<double> gradient) {
    ++calls;
    return problem.function(x, gradient);
  };
  for (int budget : {1, 2, 7, 20}) {
    calls = 0;
    DescentOptions options = options_for(problem);
    options.max_epochs = budget;
    const Descent descent = GetParam().optimize(counted, problem.start, options);
    EXPECT_EQ(descent.outcome, Outcome::iteration_limit);
    EXPECT_EQ(descent.epochs, budget);
    EXPECT_EQ(calls, budget);
    EXPECT_LE(descent.value, 24.2 + 1e-12) << "no worse than the start";
  }
}

TEST_P(EveryOptimizer, ReturnsTheBestPointWhenStopped) {
  const DescentProblem problem = rosenbrock();
  std::atomic<bool> stop = false;
  double lowest = std::numeric_limits<double>::infinity();
  const DifferentiableFunction watched = [&](std::span<const double> x, std::span<double> gradient) {
    const double value = problem.function(x, gradient);
    lowest = std::min(lowest, value);
    return value;
  };
  DescentOptions options = options_for(problem);
  options.stop = StopToken(stop);
  options.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.stage, "training");
    if (progress.done == 15) stop = true;
  };
  const Descent descent = GetParam().optimize(watched, problem.start, options);
  EXPECT_EQ(descent.outcome, Outcome::interrupted);
  EXPECT_EQ(descent.epochs, 15);
  EXPECT_EQ(descent.value, lowest);
  std::vector<double> gradient(2);
  EXPECT_EQ(problem.function(descent.point, gradient), lowest);
}

TEST_P(EveryOptimizer, StagnatesHonestly) {
  // A gradient with an error of 1e-4 that differs from point to point never gets below 1e-9.
  const DescentProblem problem = quadratic(1);
  const DifferentiableFunction rough = [&](std::span<const double> x, std::span<double> gradient) {
    const double value = problem.function(x, gradient);
    double phase = 0;
    for (double coordinate : x) phase += 1e9 * coordinate;
    gradient[0] += 1e-4 * (2 + std::sin(phase));
    return value;
  };
  DescentOptions options = options_for(problem);
  options.gradient_tolerance = 1e-9;
  const Descent descent = GetParam().optimize(rough, problem.start, options);
  EXPECT_EQ(descent.outcome, Outcome::stagnated);
  EXPECT_LT(descent.epochs, options.max_epochs);
  EXPECT_LT(descent.value, 1e-3) << "stagnated, but far down";
}

TEST_P(EveryOptimizer, ReportsValuesThatAreNotNumbers) {
  const DifferentiableFunction broken = [](std::span<const double>, std::span<double> gradient) {
    gradient[0] = 1;
    return std::nan("");
  };
  const std::vector<double> start = {2};
  const Descent descent = GetParam().optimize(broken, start, {});
  EXPECT_EQ(descent.outcome, Outcome::diverged);
  EXPECT_EQ(descent.point, start);
}

TEST_P(EveryOptimizer, AcceptsAMinimumAsStart) {
  const DescentProblem problem = quadratic(1);
  const std::vector<double> minimum(problem.start.size(), 1.0);
  const Descent descent = GetParam().optimize(problem.function, minimum, options_for(problem));
  EXPECT_EQ(descent.outcome, Outcome::converged);
  EXPECT_EQ(descent.epochs, 1);
  EXPECT_EQ(descent.point, minimum);
}

INSTANTIATE_TEST_SUITE_P(All, EveryOptimizer, testing::ValuesIn(optimizers),
                         [](const auto& param) { return param.param.name; });

TEST(Lbfgs, ReachesTheRoundingOfTheGradient) {
  // Differences of f lose their digits at a gradient of 1e-8; the trapezoidal rule carries on.
  const DescentProblem problem = attention_objective<double>("attention");
  DescentOptions options = options_for(problem);
  options.gradient_tolerance = 1e-12;
  EXPECT_EQ(minimize_lbfgs(problem.function, problem.start, options).outcome, Outcome::converged);
}

}  // namespace
}  // namespace qklab::lab
