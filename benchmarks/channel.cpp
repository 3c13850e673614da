#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/channel/labels/attention_loss.hpp"

namespace {

using qklab::Activation;
using qklab::Channel;
using qklab::OutputExpectation;
using qklab::QmcOptions;
using qklab::ScoreOverlaps;

constexpr ScoreOverlaps kOverlaps{1.5, 1.25, 1.16};

Channel softmax(const benchmark::State& state) {
  return {Activation::softmax, static_cast<int>(state.range(0)), 1.0};
}

void sampling_the_channel(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    OutputExpectation expectation(softmax(state), 0.5, 0, QmcOptions{});
    benchmark::DoNotOptimize(&expectation);
  }
}
BENCHMARK(sampling_the_channel)->DenseRange(2, 4)->Unit(benchmark::kMillisecond);

void evaluate_cold(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    OutputExpectation expectation(softmax(state), 0.5, 0, QmcOptions{});
    state.ResumeTiming();
    benchmark::DoNotOptimize(expectation.evaluate(kOverlaps, 0.7));
  }
}
BENCHMARK(evaluate_cold)->DenseRange(2, 4)->Unit(benchmark::kMillisecond);

/// The overlaps move by a few percent from one evaluation to the next, as in an accelerated iteration.
void evaluate_warm(benchmark::State& state) {
  const double susceptibility = static_cast<double>(state.range(1)) / 10;
  OutputExpectation expectation(softmax(state), 0.5, 0, QmcOptions{});
  expectation.evaluate(kOverlaps, susceptibility);
  ScoreOverlaps moved = kOverlaps;
  for ([[maybe_unused]] auto _ : state) {
    moved.orthogonal = moved.orthogonal == kOverlaps.orthogonal ? 0.16 : kOverlaps.orthogonal;
    benchmark::DoNotOptimize(expectation.evaluate(moved, susceptibility));
  }
}
BENCHMARK(evaluate_warm)->ArgsProduct({{2, 3, 4}, {7, 50}})->Unit(benchmark::kMillisecond);

template <class Real>
void loss_and_gradient(benchmark::State& state) {
  const Channel channel = softmax(state);
  const int count = 4096;
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  const auto rows = [&](int number) {
    std::vector<Real> values(static_cast<std::size_t>(number) * count);
    for (Real& value : values) value = static_cast<Real>(normal(generator));
    return values;
  };
  const std::vector<Real> scores = rows(channel.pair_count());
  const std::vector<Real> correlation = rows(channel.tokens * channel.tokens);
  std::vector<Real> gradient(scores.size());
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(qklab::loss_and_gradient<Real>(channel, count, scores.data(), correlation.data(),
                                                            nullptr, gradient.data()));
  }
  state.counters["per_sample"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * count,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(loss_and_gradient<float>)->DenseRange(2, 5);
BENCHMARK(loss_and_gradient<double>)->DenseRange(2, 5);

}  // namespace

BENCHMARK_MAIN();
