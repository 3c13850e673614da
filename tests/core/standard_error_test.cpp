#include "qklab/core/standard_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace qklab {
namespace {

TEST(StandardError, AgreesWithTheTextbook) {
  const std::vector<double> values{1, 2, 3, 4};
  const Estimate estimate = mean_and_error(values);
  EXPECT_DOUBLE_EQ(estimate.value, 2.5);
  EXPECT_NEAR(estimate.se, std::sqrt(5.0 / 3 / 4), 1e-15);
}

TEST(StandardError, OneValueHasNoError) {
  const std::vector<double> values{3};
  EXPECT_EQ(mean_and_error(values).value, 3);
  EXPECT_EQ(mean_and_error(values).se, 0);
}

}  // namespace
}  // namespace qklab
