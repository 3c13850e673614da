#include <gtest/gtest.h>

#include <cmath>

#include "qklab/theory/erm/state_evolution.hpp"
#include "theory/reference_data.hpp"

namespace qklab::theory {
namespace {

Estimate named_output(const Solution& solution, const std::string& name) {
  if (name == "overlap") return solution.overlap;
  if (name == "self_overlap") return solution.self_overlap;
  if (name == "susceptibility") return solution.susceptibility;
  if (name == "overlap_hat") return solution.overlap_hat;
  if (name == "self_overlap_hat") return solution.self_overlap_hat;
  if (name == "susceptibility_hat") return solution.susceptibility_hat;
  if (name == "test_error") return solution.test_error;
  if (name == "train_loss") return solution.train_loss;
  if (name == "regularization") return solution.regularization;
  if (name == "zero_fraction") return solution.zero_fraction;
  if (name == "stability") return solution.stability;
  throw std::runtime_error("unknown output " + name);
}

class ReferencePoint : public ::testing::TestWithParam<int> {};

// Every output of an independent program, within four combined standard errors or 2e-3 of the value.
TEST_P(ReferencePoint, IsReproduced) {
  const nlohmann::json point = reference_points().at(GetParam());
  const Solution solution = solve(problem_of(point.at("input")));
  ASSERT_EQ(solution.outcome, Outcome::converged);
  EXPECT_LE(solution.residual, SolveOptions{}.tolerance);
  for (const auto& [name, expected] : point.at("output").items()) {
    if (name == "stability" && std::isinf(solution.stability.value)) {
      // The width ratio cuts inside the bulk. The double integral diverges logarithmically there
      // (student_spectrum_test measures it), so that the file's number is the resolution of its quadrature.
      EXPECT_LT(solution.problem.kappa, 1);
      EXPECT_FALSE(solution.stable);
      continue;
    }
    const double value = expected.at("value");
    const double se = expected.at("se");
    const Estimate ours = named_output(solution, name);
    EXPECT_NEAR(ours.value, value, std::max(4 * std::hypot(se, ours.se), 2e-3 * std::abs(value))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(AllPoints, ReferencePoint, ::testing::Range(0, 22));

}  // namespace
}  // namespace qklab::theory
