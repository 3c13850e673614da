#include "qklab/experiment/description/description.hpp"

#include <gtest/gtest.h>

#include "experiment/message_of.hpp"
#include "experiment/temporary_file.hpp"

namespace qklab::experiment {
namespace {

using test::message_of;
using test::TemporaryFile;

std::vector<Option> options() {
  return {{"alpha", "NUMBERS", "samples", ""},
          {"noise_in", "NUMBERS", "noise", "0"},
          {"teacher", "WORD", "the target", "wishart"},
          {"json", "", "JSON", ""}};
}

TEST(Description, KnowsStandardValues) {
  const Description description(options());
  EXPECT_FALSE(description.given("noise_in"));
  EXPECT_EQ(description.number("noise_in"), 0);
  EXPECT_EQ(description.text("teacher"), "wishart");
  EXPECT_FALSE(description.on("json"));
  EXPECT_NE(message_of([&] { description.text("alpha"); }).find("alpha = (not given): is required"),
            std::string::npos);
}

TEST(Description, ReadsEveryKindOfTomlValueWithoutLosingDigits) {
  const TemporaryFile file(
      "alpha = [0.1, 1, \"2:4:3\"]\n# a remark\nnoise_in = 0.30000000000000004\nteacher = "
      "\"power-law\"\njson = true\n");
  Description description(options());
  description.read_toml(file.path());
  EXPECT_EQ(description.numbers("alpha"), (std::vector{0.1, 1.0, 2.0, 3.0, 4.0}));
  EXPECT_EQ(description.number("noise_in"), 0.30000000000000004);
  EXPECT_EQ(description.text("teacher"), "power-law");
  EXPECT_TRUE(description.on("json"));
}

TEST(Description, LetsTheCommandLineWin) {
  const TemporaryFile file("alpha = 1\nnoise_in = 0.5\njson = false\n");
  Description description(options());
  description.read_toml(file.path());
  description.set("alpha", "2");
  EXPECT_EQ(description.number("alpha"), 2);
  EXPECT_EQ(description.number("noise_in"), 0.5);
  EXPECT_FALSE(description.on("json"));
}

TEST(Description, NamesFileAndLineOfAValueThatCannotBeRead) {
  const TemporaryFile file("alpha = 1\nnoise_in = \"much\"\n");
  Description description(options());
  description.read_toml(file.path());
  const std::string message = message_of([&] { description.numbers("noise_in"); });
  EXPECT_EQ(message.find(file.path() + ":2: noise_in = much: must be a finite number"), 0u) << message;
}

struct BadToml {
  const char* content;
  const char* complaint;  ///< after the file's name
};

class BadTomlFile : public ::testing::TestWithParam<BadToml> {};

TEST_P(BadTomlFile, IsRefusedByLineAndKey) {
  const TemporaryFile file(GetParam().content);
  Description description(options());
  EXPECT_EQ(message_of([&] { description.read_toml(file.path()); }), file.path() + GetParam().complaint);
}

INSTANTIATE_TEST_SUITE_P(
    Description, BadTomlFile,
    ::testing::Values(
        BadToml{"alpha = 1\n\nalhpa = 2\n",
                ":3: alhpa: unknown key; allowed: alpha, noise_in, teacher, json"},
        BadToml{"noise-in = 1\n", ":1: noise-in: unknown key; allowed: alpha, noise_in, teacher, json"},
        BadToml{"[problem]\nalpha = 1\n",
                ":1: problem: unknown key; allowed: alpha, noise_in, teacher, json"},
        BadToml{"json = 1\n", ":1: json = 1: must be true or false"},
        BadToml{"alpha = true\n", ":1: alpha = true: must be a number, text or a list: NUMBERS"},
        BadToml{"alpha = [1, [2]]\n",
                ":1: alpha: must be a number, text, true, false or a list of numbers and text"},
        BadToml{"alpha = 2026-01-01\n",
                ":1: alpha: must be a number, text, true, false or a list of numbers and text"}));

TEST(Description, RefusesBrokenTomlWithItsLine) {
  for (const char* content : {"alpha = 1\nalpha = 2\n", "alpha = 1\nalpha 2\n", "alpha = 1\nnoise_in = \n"}) {
    const TemporaryFile file(content);
    Description description(options());
    const std::string message = message_of([&] { description.read_toml(file.path()); });
    EXPECT_EQ(message.find(file.path() + ":2: "), 0u) << message;
  }
}

TEST(Description, RefusesAFileThatIsNotThere) {
  Description description(options());
  EXPECT_EQ(message_of([&] { description.read_toml("no/such.toml"); }),
            "no/such.toml: cannot be read; must be a TOML file of options");
  EXPECT_NE(message_of([&] { description.read_toml(::testing::TempDir()); }), "(no error)");
}

TEST(Description, RefusesNotANumberFromAFile) {
  const TemporaryFile file("alpha = nan\nnoise_in = -inf\n");
  Description description(options());
  description.read_toml(file.path());
  EXPECT_NE(message_of([&] { description.numbers("alpha"); }).find("alpha = nan: must be a finite"),
            std::string::npos);
  EXPECT_NE(message_of([&] { description.numbers("noise_in"); }).find("-inf: must be a finite"),
            std::string::npos);
}

TEST(Description, RefusesWhatItDoesNotKnowOrCannotUse) {
  Description description(options());
  EXPECT_EQ(message_of([&] { description.set("alhpa", "1"); }),
            "option = alhpa: unknown; allowed: alpha, noise_in, teacher, json");
  EXPECT_NO_THROW(description.refuse("noise_in", "has no effect here"));
  description.set("noise_in", "0.5");
  EXPECT_EQ(message_of([&] { description.refuse("noise_in", "has no effect here"); }),
            "noise_in = 0.5: has no effect here");
}

}  // namespace
}  // namespace qklab::experiment
