// Times of one trajectory on [0, 4] of each theory of a tied student: teacher of d = 400 modes, two tokens of
// softmax, 81 times asked.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "qklab/dynamics/hierarchy/fock.hpp"
#include "qklab/dynamics/hierarchy/words.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"
#include "qklab/dynamics/tied/tied_noise.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace {

using namespace qklab;
using namespace qklab::dynamics;

constexpr TiedStart start{0.3, 1};

/// Quantiles of a Wishart law in place of eigenvalues that are drawn.
const DiscreteLaw& teacher() {
  static const DiscreteLaw law = truncated_law(WishartLaw{0.5}, 400);
  return law;
}

const SymmetricLoss& loss() {
  static const SymmetricLoss of({Activation::softmax, 2, 1.0, SampleLoss::Entries::all},
                                moment(teacher(), 2));
  return of;
}

std::vector<double> times() {
  std::vector<double> asked;
  for (int k = 0; k <= 80; ++k) asked.push_back(0.05 * k);
  return asked;
}

void slopes_of_the_loss(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(loss().slopes(0.9, 1.0));
}
BENCHMARK(slopes_of_the_loss)->Unit(benchmark::kMicrosecond);

void noise_strength(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(loss().noise_strength(0.9, 1.0));
}
BENCHMARK(noise_strength)->Unit(benchmark::kMicrosecond);

void exact_flow(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(tied_flow(loss(), teacher(), start, times()));
}
BENCHMARK(exact_flow)->Unit(benchmark::kMillisecond);

void truncated_flow(benchmark::State& state) {
  const DiscreteLaw law = truncated_law(teacher(), static_cast<int>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(tied_flow(loss(), law, start, times()));
}
BENCHMARK(truncated_flow)->Arg(2)->Arg(6)->Arg(12)->Unit(benchmark::kMillisecond);

void word_hierarchy_of_moments(benchmark::State& state) {
  WordOptions options;
  options.order = static_cast<int>(state.range(0));
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(word_hierarchy(loss(), teacher(), start, times(), options));
}
BENCHMARK(word_hierarchy_of_moments)->Arg(4)->Arg(8)->Arg(12)->Unit(benchmark::kMillisecond);

void free_fock(benchmark::State& state) {
  FockOptions options;
  options.order = static_cast<int>(state.range(0));
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(fock_flow(loss(), teacher(), start, times(), options));
}
BENCHMARK(free_fock)->Arg(2)->Arg(4)->Arg(6)->Unit(benchmark::kMillisecond);

void noise_of_finite_steps(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(tied_flow_with_noise(loss(), teacher(), start, 0.5, times()));
  }
}
BENCHMARK(noise_of_finite_steps)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
