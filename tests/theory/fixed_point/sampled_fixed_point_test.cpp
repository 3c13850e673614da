#include "qklab/theory/fixed_point/sampled_fixed_point.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace qklab::theory {
namespace {

using Eigen::VectorXd;

VectorXd at(double x) {
  return VectorXd::Constant(1, x);
}

/// A map of the line whose sample is a number, the redraw: F(x) = smooth(x), plus `height` below the place
/// where that sample jumps.
class ToyMap final : public SampledMap {
 public:
  std::function<double(double)> smooth;
  double height = 0;
  std::vector<double> jumps;  ///< of each sample; the small one has none
  std::vector<int> drawn;

  std::optional<VectorXd> on_fine(const VectorXd& x) override {
    ++fine_evaluations;
    return at(smooth(x[0]) + (x[0] < jump() ? height : 0));
  }
  std::optional<VectorXd> on_coarse(const VectorXd& x) override { return at(smooth(x[0])); }
  FixedPoint approach(const VectorXd& start) override {
    return solve_fixed_point([this](const VectorXd& x) { return on_coarse(x); }, start, {.tolerance = 1e-5});
  }
  double competing(const VectorXd& x) override { return std::abs(x[0] - jump()) <= height ? 0.01 : 0; }
  void draw(int redraw) override { drawn.push_back(redraw); }

  int fine_evaluations = 0;

 private:
  double jump() const { return jumps[drawn.empty() ? 0 : static_cast<std::size_t>(drawn.back())]; }
};

TEST(SampledFixedPoint, SmoothMapTakesAFewStepsOnTheLargeSample) {
  ToyMap map;
  map.smooth = [](double x) { return std::cos(x); };
  map.jumps = {-100};
  SampledFixedPoint search(map, {.tolerance = 1e-12});
  const FixedPoint found = search.find(at(0.2));
  EXPECT_EQ(found.outcome, Outcome::converged);
  EXPECT_NEAR(found.x[0], 0.7390851332151607, 1e-12);
  EXPECT_LE(map.fine_evaluations, 4);
  EXPECT_EQ(search.redraws(), 0);
  EXPECT_GT(search.evaluations(), map.fine_evaluations);
}

// F(x) = 1 - x/2 + h below the jump, whose fixed point is 2/3 + 2h/3 if that lies below the jump and 2/3 if
// that lies above it; a jump between the two leaves none.
TEST(SampledFixedPoint, DrawsAnewUntilNoJumpHidesTheFixedPoint) {
  ToyMap map;
  map.smooth = [](double x) { return 1 - x / 2; };
  map.height = 3e-3;
  const double lower = 2.0 / 3;
  const double upper = lower + 2 * map.height / 3;
  map.jumps = {lower + 1e-3, lower + 1.5e-3, lower - 1e-3};
  SampledFixedPoint search(map, {.tolerance = 1e-10});
  const FixedPoint found = search.find(at(0.1));
  EXPECT_EQ(found.outcome, Outcome::converged);
  EXPECT_NEAR(found.x[0], lower, 1e-9);
  EXPECT_EQ(map.drawn, (std::vector{1, 2}));
  EXPECT_EQ(search.redraws(), 2);

  map.drawn.clear();
  map.jumps = {lower + 1e-3, upper + 1e-3};
  SampledFixedPoint other(map, {.tolerance = 1e-10});
  EXPECT_NEAR(other.find(at(0.1)).x[0], upper, 1e-9);
  EXPECT_EQ(other.redraws(), 1);
}

TEST(SampledFixedPoint, RedrawsOfAllSearchesTogetherAreLimited) {
  ToyMap map;
  map.smooth = [](double x) { return 1 - x / 2; };
  map.height = 3e-3;
  map.jumps = std::vector<double>(100, 2.0 / 3 + 1e-3);
  SampledFixedPoint search(map, {});
  const FixedPoint found = search.find(at(0.1));
  EXPECT_FALSE(is_answer(found.outcome));
  EXPECT_NEAR(found.x[0], 2.0 / 3 + 1e-3, 1e-4) << "the jump is where F(x) - x changes its sign";
  EXPECT_EQ(search.redraws(), SampledFixedPoint::most_redraws);
  EXPECT_FALSE(is_answer(search.find(at(0.1)).outcome));
  EXPECT_EQ(search.redraws(), SampledFixedPoint::most_redraws);
}

// F(x) = x + 0.005 + x^2 has no fixed point, and no jump to blame.
TEST(SampledFixedPoint, DrawsNothingAnewWhereNothingJumps) {
  ToyMap map;
  map.smooth = [](double x) { return x + 5e-3 + x * x; };
  map.jumps = {-100};
  SampledFixedPoint search(map, {});
  EXPECT_FALSE(is_answer(search.find(at(0.1)).outcome));
  EXPECT_EQ(search.redraws(), 0);
}

TEST(SampledFixedPoint, SamplesOfRedrawsAreFunctionsOfTheSeed) {
  const QmcOptions first{.log2_points = 14, .seed = 5};
  EXPECT_EQ(redrawn(first, 0).seed, 5U);
  EXPECT_NE(redrawn(first, 1).seed, redrawn(first, 2).seed);
  EXPECT_EQ(redrawn(first, 3).seed, redrawn(first, 3).seed);
  EXPECT_LT(coarse_sampling(first).log2_points, first.log2_points);
  EXPECT_EQ(coarse_sampling(first).seed, first.seed);
}

}  // namespace
}  // namespace qklab::theory
