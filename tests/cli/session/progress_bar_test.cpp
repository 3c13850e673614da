#include "qklab/cli/session/progress_bar.hpp"

#include <gtest/gtest.h>

namespace qklab::cli {
namespace {

ProgressLine half_way() {
  return {.stage = "runs", .done = 20, .total = 40, .seconds = 10, .detail = "training 120"};
}

TEST(ProgressBar, SaysAllThereIsToSayOnAWideTerminal) {
  EXPECT_EQ(compose(half_way(), 100),
            "runs 20/40 [###############...............] ETA 0:10  2/s  training 120");
}

TEST(ProgressBar, LeavesOutTheLeastImportantFirst) {
  EXPECT_EQ(compose(half_way(), 50), "runs 20/40 [#####....] ETA 0:10  2/s  training 120");
  EXPECT_EQ(compose(half_way(), 45), "runs 20/40 [#########.........] ETA 0:10  2/s");
  EXPECT_EQ(compose(half_way(), 30), "runs 20/40 [####....] ETA 0:10");
  EXPECT_EQ(compose(half_way(), 20), "runs 20/40 ETA 0:10");
  EXPECT_EQ(compose(half_way(), 15), "20/40 ETA 0:10");
  EXPECT_EQ(compose(half_way(), 5), "20/40");
}

TEST(ProgressBar, NeverExceedsTheColumns) {
  for (double done : {0.0, 1.0, 99999.0, 100000.0}) {
    const ProgressLine line{"spectra", done, 1e5, 3.7e5, "training 5000"};
    for (int columns = 0; columns <= 200; ++columns) {
      EXPECT_LE(compose(line, columns).size(), static_cast<std::size_t>(columns));
    }
  }
}

TEST(ProgressBar, KnowsNoRateBeforeTheFirstUnit) {
  EXPECT_EQ(compose({"points", 0, 3, 5, ""}, 32), "points 0/3 [............] ETA --");
}

TEST(ProgressBar, GivesSlowRatesInSecondsAndLongTimesInHours) {
  const std::string line = compose({"runs", 1, 101, 60, ""}, 100);
  EXPECT_NE(line.find("60 s each"), std::string::npos) << line;
  EXPECT_NE(line.find("ETA 1:40:00"), std::string::npos) << line;
  EXPECT_NE(compose({"runs", 1, 1e6, 60, ""}, 100).find("ETA > 100 h"), std::string::npos);
}

}  // namespace
}  // namespace qklab::cli
