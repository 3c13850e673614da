#include "qklab/cli/words/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

namespace qklab::cli {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(WithError, GivesTheErrorInUnitsOfTheLastDigits) {
  EXPECT_EQ(with_error({0.234, 0.003}), "0.234(3)");
  EXPECT_EQ(with_error({0.23401, 0.00151}), "0.2340(15)");
  EXPECT_EQ(with_error({0.046712, 0.0000321}), "0.04671(3)");
  EXPECT_EQ(with_error({1.17e-5, 3e-7}), "1.17(3)e-05");
  EXPECT_EQ(with_error({-2.5, 0.4}), "-2.5(4)");
  EXPECT_EQ(with_error({1234.5, 12.0}), "1234(12)");
  EXPECT_EQ(with_error({3.1e7, 2e6}), "3.1(2)e+07");
}

TEST(WithError, RoundsTheErrorToTheNearestUnit) {
  EXPECT_EQ(with_error({0.5, 0.0034}), "0.500(3)");
  EXPECT_EQ(with_error({0.5, 0.0096}), "0.500(10)");
}

TEST(WithError, ShowsErrorsLargerThanTheValue) {
  EXPECT_EQ(with_error({0.001, 0.3}), "0.0(3)");
  EXPECT_EQ(with_error({0, 0.02}), "0.00(2)");
}

TEST(WithError, LeavesOutErrorsThatAreUnknownOrTooSmallToShow) {
  EXPECT_EQ(with_error({0.5, 0}), "0.5");
  EXPECT_EQ(with_error({0.5, nan}), "0.5");
  EXPECT_EQ(with_error({0.123456789, 1e-9}), "0.123457");
  EXPECT_EQ(with_error({nan, 0.1}), "-");
  EXPECT_EQ(with_error({std::numeric_limits<double>::infinity(), 0.1}), "inf");
}

/// Value and error read back are those given, to the digits shown.
TEST(WithError, ReadsBackAndFitsAColumnOverManyMagnitudes) {
  const std::regex form(R"((-?[\d.]+)\((\d+)\)(e[+-]\d\d)?)");
  for (double exponent = -12; exponent < 12; exponent += 0.37) {
    for (double relative = -4; relative < 0; relative += 0.23) {
      const double value = 1.37 * std::pow(10, exponent);
      const double se = value * std::pow(10, relative);
      const std::string text = with_error({value, se});
      EXPECT_LE(text.size(), 13u) << text;
      std::smatch parts;
      if (!std::regex_match(text, parts, form)) {
        EXPECT_LT(se, 2e-4 * value) << text;
        continue;
      }
      const double scale = parts[3].matched ? std::stod(std::string("1").append(parts[3].str())) : 1;
      const std::string digits = parts[1].str();
      const std::size_t point = digits.find('.');
      const double unit =
          scale * std::pow(10, point == std::string::npos ? 0 : -double(digits.size() - point - 1));
      EXPECT_NEAR(std::stod(digits) * scale, value, 0.5001 * unit) << text;
      EXPECT_NEAR(std::stod(parts[2].str()) * unit, se, 0.5001 * unit) << text;
    }
  }
}

TEST(Table, AlignsCellsUnderTheirTitles) {
  const Table table({{"alpha", 8}, {"test error"}}, 1);
  EXPECT_EQ(table.heading(), "   alpha    test error");
  EXPECT_EQ(table.row({"0.5", "0.234(3)"}, "not stable"), "     0.5      0.234(3) not stable");
  EXPECT_EQ(table.row({"0.5", "0.234(3)"}), "     0.5      0.234(3)");
}

TEST(Table, BreaksTitlesIntoTwoLines) {
  const Table table({{"alpha", 6}, {"test\ntheory", 8}}, 1);
  EXPECT_EQ(table.heading(), "           test\n alpha   theory");
}

TEST(Table, LeavesOutLastColumnsThatDoNotFitAPage) {
  const Table table({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}}, 1);
  const std::string row = table.row({"1", "2", "3", "4", "5", "6"}, std::string(Table::widest_remark, 'x'));
  EXPECT_LE(row.size(), static_cast<std::size_t>(Table::columns_of_a_page));
  EXPECT_EQ(row.find('5'), std::string::npos);
  EXPECT_NE(row.find('4'), std::string::npos);
}

TEST(Table, KeepsTheFirstColumnsWhatever) {
  const Table table({{"a", 50}, {"b", 50}, {"c", 50}}, 2);
  EXPECT_EQ(table.row({"1", "2", "3"}).size(), 101u);
}

TEST(TableText, IsTheHeadingAndTheRowsBelowIt) {
  const std::vector<Column> columns{{"x", 4}, {"y", 6}};
  TableText text(columns, 2);
  const Table table(columns, 2);
  EXPECT_EQ(text.text(), table.heading());
  text.add({"1", "2"});
  text.add({"3", "4"}, "far");
  EXPECT_EQ(text.text(),
            table.heading() + "\n" + table.row({"1", "2"}) + "\n" + table.row({"3", "4"}, "far"));
}

TEST(ListText, HasALineBreakBetweenLinesAlone) {
  ListText list;
  EXPECT_EQ(list.text(), "");
  list.add("overlap", "0.5", "Tr(S S0)/d");
  list.add_line("    as it is");
  EXPECT_EQ(list.text(), list_line("overlap", "0.5", "Tr(S S0)/d") + "\n    as it is");
}

}  // namespace
}  // namespace qklab::cli
