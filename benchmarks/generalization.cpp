// Times of what follows from the state evolution: a learning curve, the decomposition of the test error, the
// best weight decay, thresholds with their continuation, scaling laws over six decades.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "qklab/theory/erm/state_evolution.hpp"
#include "qklab/theory/generalization/decomposition.hpp"
#include "qklab/theory/generalization/scaling.hpp"
#include "qklab/theory/generalization/weight_decay.hpp"
#include "qklab/theory/thresholds/thresholds.hpp"

namespace {

using namespace qklab;

Problem softmax(int tokens) {
  Problem problem;
  problem.tokens = tokens;
  problem.noise_in = 0.5;
  return problem;
}

void learning_curve_of_40_points(benchmark::State& state) {
  std::vector<Problem> problems;
  for (int i = 0; i < 40; ++i) {
    problems.push_back(softmax(2));
    problems.back().alpha = 0.1 * std::pow(40, i / 39.0);
  }
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(theory::solve_sweep(problems));
}

void decomposition(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(theory::decompose(theory::solve(softmax(2))));
}

void best_weight_decay(benchmark::State& state) {
  const Problem problem = softmax(static_cast<int>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) {
    theory::StateEvolution evolution({.qmc = {.log2_points = static_cast<int>(state.range(1))}});
    benchmark::DoNotOptimize(theory::best_weight_decay(problem, evolution));
  }
}

void recovery_threshold_followed(benchmark::State& state) {
  Problem problem;
  problem.tokens = static_cast<int>(state.range(0));
  if (problem.tokens == 1) problem.activation = Activation::identity;
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(theory::follow_to_recovery(problem));
}

void scaling_law_of_40_points(benchmark::State& state) {
  std::vector<Problem> series;
  const int d = static_cast<int>(state.range(0));
  for (int i = 0; i < 40; ++i) {
    Problem problem;
    problem.tokens = 1;
    problem.activation = Activation::identity;
    problem.noise_out = 0.5;
    problem.dimension = d;
    problem.teacher = PowerLawTeacher{1.0, 0};
    problem.alpha = std::pow(10, 3 + 6 * i / 39.0) / d / d;
    series.push_back(problem);
  }
  for ([[maybe_unused]] auto _ : state) {
    theory::StateEvolution evolution;
    benchmark::DoNotOptimize(theory::scaling_law(series, evolution));
  }
}

BENCHMARK(learning_curve_of_40_points)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(decomposition)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(best_weight_decay)
    ->ArgNames({"tokens", "log2_points"})
    ->Args({2, 14})
    ->Args({8, 10})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK(recovery_threshold_followed)
    ->ArgName("tokens")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK(scaling_law_of_40_points)
    ->ArgName("d")
    ->Arg(800)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
