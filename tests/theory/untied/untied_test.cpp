#include "qklab/theory/untied/untied.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "qklab/core/error.hpp"
#include "qklab/theory/erm/state_evolution.hpp"
namespace qklab::theory {
namespace {

Problem two_tokens(double alpha, double lambda) {
  Problem problem;
  problem.parametrization = Parametrization::untied;
  problem.alpha = alpha;
  problem.lambda = lambda;
  return problem;
}

Problem linear(double alpha, double lambda, double noise_out) {
  Problem problem = two_tokens(alpha, lambda);
  problem.activation = Activation::identity;
  problem.noise_out = noise_out;
  return problem;
}

/// Small matrices and few points, for tests whose truth does not need more.
UntiedOptions quick(int dimension = 48, int samples = 4) {
  UntiedOptions options;
  options.solve.qmc.log2_points = 11;
  options.dimension = dimension;
  options.samples = samples;
  return options;
}

void expect_close(const Estimate& found, double expected, double finite_size, const char* name) {
  EXPECT_NEAR(found.value, expected, 3 * found.se + finite_size) << name;
}

// Symmetric labels and a convex loss: S is symmetric. With a weight decay that no negative level passes, it
// is that of tied weights, whose matrix side is exact.
TEST(Untied, SymmetricLinearLabelsGiveTheTiedStudent) {
  Problem problem = linear(2.0, 4.0, 0);
  problem.noise_in = 0.02;
  const UntiedSolution untied = solve_untied(problem, quick());
  ASSERT_EQ(untied.outcome, Outcome::converged);
  problem.parametrization = Parametrization::tied;
  const Solution tied = solve(problem);
  ASSERT_EQ(tied.outcome, Outcome::converged);
  ASSERT_LT(-FreeConvolution(tied.spectrum.teacher, tied.spectrum.delta).outer_edges().lo,
            tied.spectrum.threshold)
      << "a negative level passes: the problem does not serve the test";
  EXPECT_EQ(untied.antisymmetric_self_overlap.value, 0);
  expect_close(untied.overlap, tied.overlap.value, 1e-3, "m");
  expect_close(untied.symmetric_self_overlap, tied.self_overlap.value, 2e-3, "q_s");
  expect_close(untied.symmetric_susceptibility, tied.susceptibility.value, 1e-3, "V_s");
  expect_close(untied.test_error, tied.test_error.value, 5e-3, "test error");
  expect_close(untied.train_loss, tied.train_loss.value, 1e-3, "train loss");
  expect_close(untied.regularization, tied.regularization.value, 1e-3, "penalty");
  expect_close(untied.zero_fraction, tied.zero_fraction.value, 1e-2, "zero fraction");
  expect_close(untied.stability, tied.stability.value, 0.01, "stability");
}

// The condition of the minimum times S, both sides measured independently of it (8.12).
TEST(Untied, BalancesAtTheFixedPoint) {
  Problem problem = two_tokens(1.0, 0.1);
  problem.noise_out = 0.1;
  const UntiedSolution s = solve_untied(problem, quick());
  ASSERT_EQ(s.outcome, Outcome::converged);
  const double pull = s.symmetric_susceptibility_hat.value * s.symmetric_self_overlap.value +
                      s.antisymmetric_susceptibility_hat.value * s.antisymmetric_self_overlap.value +
                      2 * s.regularization.value;
  const double push = s.overlap_hat.value * s.overlap.value +
                      s.symmetric_self_overlap_hat.value * s.symmetric_susceptibility.value +
                      s.antisymmetric_self_overlap_hat.value * s.antisymmetric_susceptibility.value;
  EXPECT_NEAR(pull, push, 0.01 * push);
}

// Envelope theorem: d(train_loss + regularization)/d lambda = |S|_*/d = regularization/lambda.
TEST(Untied, SlopeOfTheObjectiveIsTheNuclearNorm) {
  const auto objective = [](const Problem& problem) {
    const UntiedSolution s = solve_untied(problem, quick());
    EXPECT_EQ(s.outcome, Outcome::converged);
    return s.train_loss.value + s.regularization.value;
  };
  for (const auto& make : {+[](double lambda) { return linear(0.3, lambda, 0.5); },
                           +[](double lambda) { return two_tokens(1.0, lambda); }}) {
    const double lambda = 0.2;
    const double h = 0.01;
    const double slope = (objective(make(lambda + h)) - objective(make(lambda - h))) / (2 * h);
    const UntiedSolution s = solve_untied(make(lambda), quick());
    EXPECT_NEAR(slope, s.regularization.value / lambda, 0.01 * slope);
  }
}

// Label noise is not symmetric, and neither is the residual of softmax labels without any noise.
TEST(Untied, TheAntisymmetricPartIsDrivenByWhatIsNotSymmetric) {
  EXPECT_EQ(solve_untied(linear(0.6, 0.2, 0), quick()).antisymmetric_self_overlap.value, 0);
  EXPECT_GT(solve_untied(linear(0.6, 0.2, 0.3), quick()).antisymmetric_self_overlap.value, 1e-3);
  const UntiedSolution softmax = solve_untied(two_tokens(1.0, 0.1), quick());
  EXPECT_GT(softmax.antisymmetric_self_overlap.value, 20 * softmax.antisymmetric_self_overlap.se);
}

TEST(Untied, StrongWeightDecayGivesZero) {
  for (const Problem& problem : {two_tokens(1.0, 5.0), linear(0.5, 40.0, 0.3)}) {
    const UntiedSolution s = solve_untied(problem, quick());
    EXPECT_EQ(s.outcome, Outcome::zero_solution);
    EXPECT_EQ(s.symmetric_self_overlap.value, 0);
    EXPECT_EQ(s.zero_fraction.value, 1);
    EXPECT_GT(s.test_error.value, 0);
  }
}

// Independent samplings of both sides answer the same within their own errors.
TEST(Untied, StandardErrorsCoverOtherSamples) {
  Problem problem = two_tokens(1.0, 0.1);
  problem.noise_out = 0.1;
  UntiedOptions options = quick(32, 8);
  UntiedOptions larger = quick(32, 64);
  larger.solve.qmc.log2_points = 14;
  const UntiedSolution reference = solve_untied(problem, larger);
  int outside = 0;
  int all = 0;
  for (int seed = 2; seed <= 7; ++seed) {
    options.solve.qmc.seed = static_cast<std::uint64_t>(seed);
    const UntiedSolution s = solve_untied(problem, options);
    const auto count = [&](const Estimate& one, const Estimate& other) {
      ++all;
      if (std::abs(one.value - other.value) > 2.5 * std::hypot(one.se, other.se)) ++outside;
    };
    count(s.overlap, reference.overlap);
    count(s.symmetric_self_overlap, reference.symmetric_self_overlap);
    count(s.antisymmetric_self_overlap, reference.antisymmetric_self_overlap);
    count(s.symmetric_susceptibility, reference.symmetric_susceptibility);
    count(s.test_error, reference.test_error);
    count(s.train_loss, reference.train_loss);
    count(s.regularization, reference.regularization);
  }
  EXPECT_LE(outside, all / 8);
}

// Noisy labels and little weight decay: sampled proximal maps jump, at some seeds right at the fixed point.
TEST(Untied, SolvesWhereProximalMapsJump) {
  Problem problem = two_tokens(1.0, 0.02);
  problem.noise_out = 0.1;
  UntiedOptions options = quick(32, 2);
  for (int seed = 1; seed <= 8; ++seed) {
    options.solve.qmc.seed = static_cast<std::uint64_t>(seed);
    const UntiedSolution s = solve_untied(problem, options);
    EXPECT_EQ(s.outcome, Outcome::converged) << seed;
    EXPECT_GT(s.competing_minima, 0);
  }
}

TEST(Untied, SolveHandsItOver) {
  Problem problem = linear(0.3, 0.5, 0.5);
  problem.teacher = PowerLawTeacher{1.0, 0};
  problem.dimension = 60;
  const UntiedSolution untied = solve_untied(problem);
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::converged);
  EXPECT_EQ(solution.sampled_dimension, 60);
  EXPECT_EQ(solution.self_overlap.value, untied.symmetric_self_overlap.value);
  EXPECT_EQ(solution.antisymmetric_self_overlap.value, untied.antisymmetric_self_overlap.value);
  EXPECT_EQ(solution.stability.value, untied.stability.value);
  EXPECT_EQ(untied.singular_values.size(), 60U * 8U);
}

TEST(Untied, NamesWhatIsOutsideItsDomain) {
  const auto with = [](auto change) {
    Problem problem = two_tokens(1, 0.1);
    change(problem);
    return problem;
  };
  EXPECT_THROW(solve_untied(with([](Problem& p) { p.kappa = 0.5; })), InvalidParameter);
  EXPECT_THROW(solve_untied(with([](Problem& p) { p.lambda = 0; })), InvalidParameter);
  EXPECT_THROW(solve_untied(with([](Problem& p) { p.parametrization = Parametrization::tied; })),
               InvalidParameter);
  EXPECT_THROW(solve_untied(with([](Problem& p) {
                 p.tokens = 1;
                 p.activation = Activation::identity;
               })),
               InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
