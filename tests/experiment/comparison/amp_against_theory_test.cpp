#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "problems.hpp"
#include "qklab/core/standard_error.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/theory/erm/iterates.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab {
namespace {

constexpr int seeds = 5;

std::vector<test::NamedProblem> points() {
  Problem base;
  base.dimension = 70;
  base.alpha = 1;
  base.lambda = 0.1;
  test::Variations problems(base);
  problems.add("tied", [](Problem& p) { p.noise_in = 0.2; });
  problems.add("direct", [](Problem& p) {
    p.parametrization = Parametrization::direct;
    p.noise_in = 0.2;
  });
  problems.add("identity1", [](Problem& p) {
    test::make_identity(p, 1);
    p.lambda = 1;
    p.noise_out = 0.5;
  });
  problems.add("untied_identity1", [](Problem& p) {
    test::make_identity(p, 1);
    p.parametrization = Parametrization::untied;
    p.lambda = 0.5;
    p.noise_out = 0.5;
  });
  return problems.all();
}

std::vector<lab::AmpRun> runs(const Problem& problem, const lab::AmpOptions& options) {
  std::vector<lab::AmpRun> all;
  for (int seed = 1; seed <= seeds; ++seed) {
    all.push_back(lab::run_amp(problem, options, static_cast<std::uint64_t>(seed)));
  }
  return all;
}

/// Relative shift at finite size. The squared norm of the matrix that makes a diagonal score, |x x^T -
/// I|^2/2d, fluctuates by sqrt(8/d) from sample to sample; one token has no other scores.
double finite_size(const Problem& problem) {
  return (problem.tokens == 1 ? 8.0 : 3.0) / problem.dimension;
}

/// Agreement within 4 standard errors over seeds and a finite-size shift of `share` of the value.
template <class Measure>
void expect_agreement(const char* what, double predicted, const std::vector<lab::AmpRun>& runs, double share,
                      const Measure& measure) {
  std::vector<double> values;
  for (const lab::AmpRun& run : runs) values.push_back(measure(run));
  const Estimate measured = mean_and_error(values);
  EXPECT_NEAR(measured.value, predicted, 4 * measured.se + share * std::abs(predicted)) << what;
}

class AmpAgainstTheory : public testing::TestWithParam<test::NamedProblem> {};

TEST_P(AmpAgainstTheory, FixedPointIsThatOfTheStateEvolution) {
  const Problem& problem = GetParam().problem;
  theory::SolveOptions rough;
  rough.qmc.log2_points = 13;
  const theory::Solution theory = theory::StateEvolution(rough).solve(problem);
  ASSERT_EQ(theory.outcome, Outcome::converged);
  lab::AmpOptions options;
  options.tolerance = 1e-6;
  options.test_samples = 2000;
  const std::vector<lab::AmpRun> found = runs(problem, options);
  for (const lab::AmpRun& run : found) EXPECT_EQ(run.outcome, Outcome::converged);
  const double share = finite_size(problem);
  using Run = lab::AmpRun;
  expect_agreement("m", theory.overlap.value, found, share, [](const Run& run) { return run.overlap; });
  expect_agreement("q", theory.self_overlap.value, found, share,
                   [](const Run& run) { return run.self_overlap.symmetric; });
  expect_agreement("V", theory.susceptibility.value, found, share,
                   [](const Run& run) { return run.susceptibility.symmetric; });
  expect_agreement("Vhat", theory.susceptibility_hat.value, found, share,
                   [](const Run& run) { return run.iterations.back().susceptibility_hat.symmetric; });
  expect_agreement("qhat", theory.self_overlap_hat.value, found, 2 * share,
                   [](const Run& run) { return run.iterations.back().self_overlap_hat.symmetric; });
  expect_agreement("mhat", theory.overlap_hat.value, found, share,
                   [](const Run& run) { return run.iterations.back().overlap_hat; });
  expect_agreement("loss", theory.train_loss.value, found, 2 * share,
                   [](const Run& run) { return run.train_loss; });
}

TEST_P(AmpAgainstTheory, EveryIterateIsThatOfTheStateEvolution) {
  const Problem& problem = GetParam().problem;
  constexpr int steps = 5;
  theory::SolveOptions rough;
  rough.qmc.log2_points = 13;
  const theory::OrderParameters start{0, 0, teacher_self_overlap(problem)};
  const std::vector<theory::Iterate> predicted = theory::iterates(problem, start, steps, rough);
  ASSERT_EQ(std::ssize(predicted), steps + 1);
  lab::AmpOptions options;
  options.max_iterations = steps + 1;
  options.test_samples = 2000;
  const std::vector<lab::AmpRun> found = runs(problem, options);
  const double share = finite_size(problem);
  for (int t = 0; t <= steps; ++t) {
    SCOPED_TRACE("iterate " + std::to_string(t));
    const theory::Iterate& theory = predicted[t];
    const auto at = [t](const lab::AmpRun& run) { return run.iterations[t]; };
    expect_agreement("m", theory.overlap, found, share, [&](const auto& run) { return at(run).overlap; });
    expect_agreement("q", theory.self_overlap, found, share,
                     [&](const auto& run) { return at(run).self_overlap.symmetric; });
    expect_agreement("V", theory.susceptibility, found, share,
                     [&](const auto& run) { return at(run).susceptibility.symmetric; });
    expect_agreement("mhat", theory.hats.overlap_hat, found, share,
                     [&](const auto& run) { return at(run).overlap_hat; });
    expect_agreement("qhat", theory.hats.self_overlap_hat, found, 2 * share,
                     [&](const auto& run) { return at(run).self_overlap_hat.symmetric; });
    expect_agreement("Vhat", theory.hats.susceptibility_hat, found, share,
                     [&](const auto& run) { return at(run).susceptibility_hat.symmetric; });
  }
}

INSTANTIATE_TEST_SUITE_P(Points, AmpAgainstTheory, testing::ValuesIn(points()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace qklab
