#include <benchmark/benchmark.h>

#include <cmath>

#include "qklab/core/problem.hpp"
#include "qklab/spectra/free_convolution.hpp"

namespace qklab {
namespace {

/// delta as 10^-(first argument).
double delta_of(const benchmark::State& state) {
  return std::pow(10.0, -static_cast<double>(state.range(0)));
}

FreeConvolution wishart(const benchmark::State& state) {
  return {WishartLaw{0.5}, delta_of(state)};
}

/// Second argument: number of modes.
FreeConvolution power_law(const benchmark::State& state) {
  const PowerLawTeacher teacher{1.25, 0};
  return {empirical_law(power_law_eigenvalues(teacher, static_cast<int>(state.range(1)))), delta_of(state)};
}

void contour_wishart(benchmark::State& state) {
  const FreeConvolution mu = wishart(state);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mu.contour_above(0.8));
  state.counters["nodes"] = static_cast<double>(mu.contour_above(0.8).size());
}
BENCHMARK(contour_wishart)->DenseRange(0, 3);

void contour_power_law(benchmark::State& state) {
  const FreeConvolution mu = power_law(state);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mu.contour_above(0.3));
  state.counters["nodes"] = static_cast<double>(mu.contour_above(0.3).size());
}
BENCHMARK(contour_power_law)->ArgsProduct({{0, 1, 2, 4}, {400, 800}});

void nodes_wishart(benchmark::State& state) {
  const FreeConvolution mu = wishart(state);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mu.nodes());
  state.counters["nodes"] = static_cast<double>(mu.nodes().size());
}
BENCHMARK(nodes_wishart)->DenseRange(0, 3);

void nodes_power_law(benchmark::State& state) {
  const FreeConvolution mu = power_law(state);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mu.nodes());
  state.counters["nodes"] = static_cast<double>(mu.nodes().size());
}
BENCHMARK(nodes_power_law)->ArgsProduct({{0, 1, 2, 4}, {400}})->Unit(benchmark::kMillisecond);

void support_power_law(benchmark::State& state) {
  const FreeConvolution mu = power_law(state);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mu.support());
}
BENCHMARK(support_power_law)->ArgsProduct({{0, 2, 4}, {400}});

void upper_quantile_power_law(benchmark::State& state) {
  const FreeConvolution mu = power_law(state);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mu.upper_quantile(0.2037));
}
BENCHMARK(upper_quantile_power_law)->ArgsProduct({{0, 2, 4}, {400}});

}  // namespace
}  // namespace qklab

BENCHMARK_MAIN();
