#include "qklab/core/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Problem, DefaultsAreValid) {
  EXPECT_NO_THROW(checked(Problem{}));
}

TEST(Problem, MessageNamesParameterValueAndAllowedRange) {
  Problem problem;
  problem.teacher = WishartTeacher{-0.1};
  EXPECT_EQ(message_of([&] { checked(problem); }),
            "kappa0 = -0.1: the target's rank ratio must be > 0 and finite");
}

TEST(Problem, EveryParameterOutsideItsDomainIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(Problem&)>>> faults = {
      {"alpha", [](Problem& p) { p.alpha = 0; }},
      {"alpha", [](Problem& p) { p.alpha = nan; }},
      {"alpha", [](Problem& p) { p.alpha = infinity; }},
      {"tokens", [](Problem& p) { p.tokens = 0; }},
      {"tokens", [](Problem& p) { p.tokens = 1; }},  // softmax of one token
      {"beta", [](Problem& p) { p.beta = 0; }},
      {"noise_in", [](Problem& p) { p.noise_in = -1; }},
      {"noise_out", [](Problem& p) { p.noise_out = nan; }},
      {"kappa0", [](Problem& p) { p.teacher = WishartTeacher{0}; }},
      {"gamma",
       [](Problem& p) {
         p.teacher = PowerLawTeacher{0.5, 0};
       }},
      {"gamma",
       [](Problem& p) {
         p.teacher = PowerLawTeacher{nan, 0};
       }},
      {"modes",
       [](Problem& p) {
         p.teacher = PowerLawTeacher{1, 201};
       }},
      {"kappa", [](Problem& p) { p.kappa = 0; }},
      {"lambda", [](Problem& p) { p.lambda = -1e-9; }},
      {"dimension", [](Problem& p) { p.dimension = 0; }},
      {"teacher",
       [](Problem& p) {
         p.teacher = SpectrumTeacher{"file", {}};
       }},
      {"dimension",
       [](Problem& p) {
         p.teacher = SpectrumTeacher{"file", {1, 2}};
       }},
  };
  for (const auto& [name, break_it] : faults) {
    Problem problem;
    break_it(problem);
    const std::string message = message_of([&] { checked(problem); });
    EXPECT_EQ(message.rfind(std::string(name) + " = ", 0), 0U) << message;
  }
}

TEST(Problem, PowerLawHasUnitMeanSquareAndTheRightRatios) {
  const auto eigenvalues = power_law_eigenvalues({1.25, 30}, 100);
  ASSERT_EQ(eigenvalues.size(), 100U);
  const double square =
      std::inner_product(eigenvalues.begin(), eigenvalues.end(), eigenvalues.begin(), 0.0) / 100;
  EXPECT_NEAR(square, 1, 1e-14);
  EXPECT_NEAR(eigenvalues[7] / eigenvalues[0], std::pow(8.0, -1.25), 1e-14);
  EXPECT_GT(eigenvalues[29], 0);
  EXPECT_EQ(eigenvalues[30], 0);
}

TEST(Problem, SelfOverlapOfTheTeacher) {
  Problem problem;
  problem.teacher = WishartTeacher{0.3};
  EXPECT_DOUBLE_EQ(teacher_self_overlap(problem), 1.3);
  problem.teacher = SpectrumTeacher{"list", {1, 2, 0, 0}};
  EXPECT_DOUBLE_EQ(teacher_self_overlap(problem), 1.25);
}

TEST(Problem, NamesRoundTrip) {
  for (Activation a : {Activation::softmax, Activation::identity, Activation::hermite2, Activation::hermite3,
                       Activation::hardmax}) {
    EXPECT_EQ(parse_activation(to_string(a)), a);
  }
  for (Task t : {Task::seq2lab, Task::seq2seq}) EXPECT_EQ(parse_task(to_string(t)), t);
  for (Parametrization p : {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    EXPECT_EQ(parse_parametrization(to_string(p)), p);
  }
  EXPECT_EQ(message_of([] { parse_task("seq3"); }), "task = seq3: must be one of seq2lab, seq2seq");
}

}  // namespace
}  // namespace qklab
