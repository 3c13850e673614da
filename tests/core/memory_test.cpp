#include "qklab/core/memory.hpp"

#include <gtest/gtest.h>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

TEST(Memory, SmallRequestsPass) {
  EXPECT_GT(available_memory(), 1e6);
  EXPECT_NO_THROW(require_memory(1e6, "dimension = 10", "a test"));
}

TEST(Memory, ImpossibleRequestsAreRefusedWithTheNumber) {
  try {
    require_memory(1024.0 * 1024 * 1024 * 1e6, "dimension = 1000000", "the training set");
    FAIL() << "an exabyte was granted";
  } catch (const ResourceError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("dimension = 1000000: the training set needs 1e+06 GiB, ", 0), 0U) << message;
  }
}

}  // namespace
}  // namespace qklab
