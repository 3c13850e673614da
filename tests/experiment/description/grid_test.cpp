#include "qklab/experiment/description/grid.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "experiment/message_of.hpp"

namespace qklab::experiment {
namespace {

using test::message_of;

TEST(Grid, ReadsNumbersAndLists) {
  EXPECT_EQ(parse_numbers("alpha", "0.1"), (std::vector{0.1}));
  EXPECT_EQ(parse_numbers("alpha", " +1e-3 , 2,-0.5"), (std::vector{1e-3, 2.0, -0.5}));
}

TEST(Grid, SpacesPointsEquallyAndMeetsBothEnds) {
  EXPECT_EQ(parse_numbers("alpha", "0:1:5"), (std::vector{0.0, 0.25, 0.5, 0.75, 1.0}));
  const std::vector<double> log = parse_numbers("alpha", "0.1:4:20:log");
  ASSERT_EQ(log.size(), 20u);
  EXPECT_EQ(log.front(), 0.1);
  EXPECT_EQ(log.back(), 4.0);
  for (std::size_t i = 1; i < log.size(); ++i) {
    EXPECT_NEAR(std::log(log[i] / log[i - 1]), std::log(40.0) / 19, 1e-14);
  }
}

TEST(Grid, RunsDownwardsAndMixesWithNumbers) {
  EXPECT_EQ(parse_numbers("alpha", "4, 3:1:3"), (std::vector{4.0, 3.0, 2.0, 1.0}));
}

TEST(Grid, RoundsTheInnerPointsOfGridsOfWholeNumbers) {
  EXPECT_EQ(parse_whole_numbers("dimension", "50:400:4:log"), (std::vector{50.0, 100.0, 200.0, 400.0}));
  EXPECT_EQ(parse_whole_numbers("dimension", "10:15:3"), (std::vector{10.0, 13.0, 15.0}));
  EXPECT_EQ(message_of([] { parse_whole_numbers("tokens", "2, 2.5"); }),
            "tokens = 2.5: must be a whole number");
}

class BadNumbers : public ::testing::TestWithParam<const char*> {};

TEST_P(BadNumbers, AreRefusedByNameAndValue) {
  const std::string message = message_of([] { parse_numbers("alpha", GetParam()); });
  EXPECT_EQ(message.find("alpha = "), 0u) << message;
  EXPECT_NE(message.find("must"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Grid, BadNumbers,
                         ::testing::Values("", "x", "1,", ",1", "1 2", "nan", "-nan", "inf", "-inf", "1e999",
                                           "0x10", "1.5e", "--1", "+-1", "1:2", "1:2:x", "1:2:1", "1:2:2.5",
                                           "1:2:-3", "1:2:1e9", "1:2:3:lin", "1:2:3:log:4", "0:1:3:log",
                                           "-1:1:3:log", "nan:1:3", "1:inf:3", "1:2:nan", ":2:3"));

TEST(Grid, ReadsSingleNumbers) {
  EXPECT_EQ(parse_number("tolerance", "1e-7"), 1e-7);
  EXPECT_EQ(message_of([] { parse_number("tolerance", "1,2"); }),
            "tolerance = 1,2: must be one finite number");
  EXPECT_EQ(parse_whole_number("seeds", "8", 1, 10), 8);
  EXPECT_EQ(message_of([] { parse_whole_number("seeds", "0", 1, 10); }),
            "seeds = 0: must be one whole number in 1..10");
  EXPECT_EQ(message_of([] { parse_whole_number("seeds", "1.5", 1, 10); }),
            "seeds = 1.5: must be one whole number in 1..10");
}

}  // namespace
}  // namespace qklab::experiment
