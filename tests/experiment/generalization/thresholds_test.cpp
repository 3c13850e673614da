#include "qklab/experiment/generalization/thresholds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace qklab::experiment {
namespace {

std::vector<ThresholdPoint> points(double noise) {
  std::vector<ThresholdPoint> points;
  for (double kappa0 : {0.2, 0.6}) {
    Problem problem;
    problem.teacher = WishartTeacher{kappa0};
    problem.noise_in = noise;
    points.push_back(find_thresholds(problem));
  }
  return points;
}

TEST(ThresholdPoints, FieldEndsWhereTheTargetIsRecovered) {
  const std::vector<ThresholdPoint> along = points(0);
  const auto field = error_field(along, 16, {});
  ASSERT_TRUE(field);
  EXPECT_EQ(field->kappa0, (std::vector{0.2, 0.6}));
  ASSERT_EQ(field->alpha.size(), 16U);
  for (std::size_t row = 0; row < along.size(); ++row) {
    const double recovery = along[row].recovery.closed.alpha.value();
    for (std::size_t column = 0; column < 16; ++column) {
      EXPECT_EQ(std::isnan(field->value[row][column]), field->alpha[column] >= recovery);
      if (column > 0 && field->alpha[column] < recovery) {
        EXPECT_LT(field->value[row][column], field->value[row][column - 1]);
      }
    }
  }
}

TEST(ThresholdPoints, NoFieldWithNoise) {
  EXPECT_FALSE(error_field(points(0.1), 16, {}));
}

TEST(ThresholdPoints, DisagreementIsRelative) {
  const CheckedThreshold checked{{0.5, ""}, theory::FollowedThreshold{0.501, 0}};
  EXPECT_NEAR(checked.disagreement(), 2e-3, 1e-12);
  EXPECT_TRUE(std::isnan(CheckedThreshold({{0.5, ""}, std::nullopt}).disagreement()));
}

TEST(ThresholdPoints, JsonIsNullWithAReason) {
  const Json json = to_json(points(0.1).front(), 7);
  EXPECT_TRUE(json.at("recovery_alpha").is_null());
  EXPECT_FALSE(json.at("recovery_reason").get<std::string>().empty());
  EXPECT_TRUE(json.at("interpolation_alpha").is_number());
  EXPECT_FALSE(json.contains("interpolation_reason"));
  EXPECT_FALSE(json.contains("interpolation_agreement"));
  EXPECT_EQ(json.at("seed"), 7);
}

}  // namespace
}  // namespace qklab::experiment
