#include "qklab/dynamics/hierarchy/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/matrix_truth.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied/tied_noise.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace qklab::dynamics {
namespace {

const SampleLoss softmax{Activation::softmax, 2, 1.0, SampleLoss::Entries::all};
const SampleLoss hermite2{Activation::hermite2, 2, 1.0, SampleLoss::Entries::one_pair};

TEST(Words, AreBraceletsWithAnS) {
  EXPECT_EQ(word_count(2), 3);
  EXPECT_EQ(word_count(4), 11);
  EXPECT_EQ(word_count(6), 30);
  EXPECT_EQ(word_count(8), 76);
  EXPECT_EQ(word_count(10), 198);
}

double error_at(const Trajectory& found, const Trajectory& exact, std::size_t k) {
  if (k >= found.points.size()) return INFINITY;
  return std::max(std::abs(found.points[k].overlap.value - exact.points[k].overlap.value),
                  std::abs(found.points[k].self_overlap.value - exact.points[k].self_overlap.value));
}

WordOptions of_order(int order) {
  WordOptions options;
  options.order = order;
  return options;
}

// Exponentially good within the horizon, and worse with the order beyond it.
TEST(Words, ConvergeUpToAHorizon) {
  const SymmetricLoss loss(hermite2, 1.5);
  const std::vector<double> times = {0, 0.0125, 0.025, 0.05, 0.2};
  const Trajectory exact = tied_flow(loss, flow_law(WishartLaw{0.5}), {0.3, 1}, times);
  double before = 1;
  for (const int order : {4, 6, 8, 10}) {
    const Trajectory words = word_hierarchy(loss, WishartLaw{0.5}, {0.3, 1}, times, of_order(order));
    const double error = error_at(words, exact, 2);
    EXPECT_LT(error, before / 2) << order;
    before = error;
    EXPECT_NEAR(words.points[0].self_overlap.value, 0.18, 1e-13);
    EXPECT_GT(error_at(words, exact, 4), 0.05) << order;
    EXPECT_LT(words.trusted_until, 0.2);
    if (order >= 8) {
      EXPECT_GE(words.trusted_until, 0.0125);
    }
    for (std::size_t k = 0; k < words.points.size() && times[k] <= words.trusted_until; ++k) {
      EXPECT_LT(error_at(words, exact, k), 2e-3);
    }
  }
  EXPECT_LT(before, 4e-4);
}

// The noise of finite steps: the terms of Ito against the characteristics.
TEST(Words, HoldTheNoiseOfFiniteSteps) {
  const SymmetricLoss loss(softmax, 1.5);
  const std::vector<double> times = {0, 0.02, 0.04};
  const double nu = 0.7;
  const Trajectory exact =
      tied_flow_with_noise(loss, flow_law(WishartLaw{0.5}), {0.3, 0.5}, nu, times,
                           {.weight_decay = 0.4, .tolerance = 1e-8, .max_intervals = 256, .stop = {}});
  WordOptions options = of_order(11);
  options.nu = nu;
  options.weight_decay = 0.4;
  const Trajectory words = word_hierarchy(loss, WishartLaw{0.5}, {0.3, 0.5}, times, options);
  ASSERT_EQ(words.points.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_LT(error_at(words, exact, k), 2e-6) << times[k];
    EXPECT_NEAR(words.points[k].trace.value, exact.points[k].trace.value, 2e-6);
  }
}

TEST(Words, SayWhenTheyDiverge) {
  const SymmetricLoss loss(hermite2, 1.5);
  const Trajectory words = word_hierarchy(loss, WishartLaw{0.5}, {0.3, 1}, times_to(2, 20), of_order(12));
  EXPECT_EQ(words.outcome, Outcome::diverged);
  EXPECT_LT(words.points.size(), 21U);
  EXPECT_LT(words.trusted_until, 1);
}

TEST(Words, RefusesWhatHasNoMeaning) {
  const SymmetricLoss loss(softmax, 1.5);
  EXPECT_THROW(word_hierarchy(loss, WishartLaw{0.5}, {0.3, 1}, {1}, of_order(1)), InvalidParameter);
  EXPECT_THROW(word_hierarchy(loss, WishartLaw{0.5}, {0.3, 1}, {1}, of_order(15)), InvalidParameter);
  EXPECT_THROW(word_count(0), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
