// Time to solve one point of the state evolution: one token in closed form, softmax with 2^15 sampling
// points, from a cold start and from a neighbouring solution.
#include "qklab/theory/erm/state_evolution.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "qklab/core/threads.hpp"

namespace {

using namespace qklab;

Problem one_token() {
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.noise_out = 0.5;
  problem.lambda = 0.1;
  return problem;
}

Problem softmax(int tokens, double alpha) {
  Problem problem;
  problem.tokens = tokens;
  problem.alpha = alpha;
  problem.noise_in = 0.5;
  problem.lambda = 0.01;
  return problem;
}

void require_answer(const theory::Solution& solution) {
  if (!is_answer(solution.outcome)) throw std::runtime_error("the benchmarked point did not converge");
}

void one_token_wishart(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) require_answer(theory::solve(one_token()));
}

void one_token_power_law(benchmark::State& state) {
  Problem problem = one_token();
  problem.dimension = static_cast<int>(state.range(0));
  problem.teacher = PowerLawTeacher{1.25, 0};
  for ([[maybe_unused]] auto _ : state) require_answer(theory::solve(problem));
}

void softmax_cold(benchmark::State& state) {
  const Problem problem = softmax(static_cast<int>(state.range(0)), 1);
  for ([[maybe_unused]] auto _ : state) require_answer(theory::solve(problem));
}

// The time of ten points along alpha from the second on, divided by ten: what a point of a sweep costs.
void softmax_warm(benchmark::State& state) {
  std::vector<Problem> problems;
  for (int i = 0; i <= 10; ++i) problems.push_back(softmax(static_cast<int>(state.range(0)), 1 + 0.1 * i));
  for ([[maybe_unused]] auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    auto second = begin;
    for (const auto& solution : theory::solve_sweep(problems, {}, [&](const Progress& progress) {
           if (progress.done == 1) second = std::chrono::steady_clock::now();
         })) {
      require_answer(solution);
    }
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - second).count() /
                           10);
  }
}

BENCHMARK(one_token_wishart)->Unit(benchmark::kMillisecond);
BENCHMARK(one_token_power_law)->Arg(400)->Arg(800)->Unit(benchmark::kMillisecond);
BENCHMARK(softmax_cold)->Arg(2)->Arg(3)->Arg(4)->Unit(benchmark::kMillisecond);
BENCHMARK(softmax_warm)->Arg(2)->Arg(3)->Unit(benchmark::kMillisecond)->UseManualTime();

}  // namespace

int main(int argc, char** argv) {
  qklab::set_thread_budget(1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
