#include "qklab/channel/labels/channel.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

TEST(Channel, CountsScoresAndVisibleDirections) {
  EXPECT_EQ((Channel{Activation::softmax, 2, 1.0}.pair_count()), 3);
  EXPECT_EQ((Channel{Activation::softmax, 2, 1.0}.score_dimension()), 2);
  EXPECT_EQ((Channel{Activation::softmax, 4, 1.0}.score_dimension()), 9);
  EXPECT_EQ((Channel{Activation::identity, 3, 1.0}.score_dimension()), 6);
  EXPECT_EQ((Channel{Activation::hardmax, 3, 1.0}.score_dimension()), 5);
}

TEST(Channel, RejectsWhatHasNoMeaning) {
  EXPECT_THROW(checked(Channel{Activation::softmax, 1, 1.0}), InvalidParameter);
  EXPECT_THROW(checked(Channel{Activation::identity, 0, 1.0}), InvalidParameter);
  EXPECT_THROW(checked(Channel{Activation::softmax, 2, 0.0}), InvalidParameter);
  EXPECT_THROW(checked(Channel{Activation::softmax, 2, std::numeric_limits<double>::quiet_NaN()}),
               InvalidParameter);
  EXPECT_THROW(checked(Channel{Activation::softmax, 2, std::numeric_limits<double>::infinity()}),
               InvalidParameter);
  EXPECT_NO_THROW(checked(Channel{Activation::identity, 1, 1.0}));
}

TEST(Channel, HermiteActivationsAreRefusedByName) {
  try {
    checked(Channel{Activation::hermite2, 2, 1.0});
    FAIL() << "hermite2 was accepted";
  } catch (const InvalidParameter& error) {
    EXPECT_NE(std::string(error.what()).find("hermite2"), std::string::npos) << error.what();
  }
}

TEST(Channel, HardmaxHasNoGradient) {
  const Channel hardmax{Activation::hardmax, 2, 1.0};
  EXPECT_NO_THROW(checked(hardmax));
  EXPECT_THROW(checked(Channel{Activation::hardmax, 1, 1.0}), InvalidParameter);
  try {
    checked_differentiable(hardmax);
    FAIL() << "hardmax was accepted";
  } catch (const InvalidParameter& error) {
    EXPECT_NE(std::string(error.what()).find("activation = hardmax"), std::string::npos) << error.what();
  }
}

TEST(Channel, ComesFromTheProblem) {
  Problem problem;
  problem.tokens = 3;
  problem.beta = 2.5;
  const Channel channel = channel_of(problem);
  EXPECT_EQ(channel.tokens, 3);
  EXPECT_EQ(channel.beta, 2.5);
  EXPECT_EQ(channel.activation, Activation::softmax);
}

}  // namespace
}  // namespace qklab
