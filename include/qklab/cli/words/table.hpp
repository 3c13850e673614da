#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qklab/core/standard_error.hpp"

namespace qklab::cli {

/// Six significant digits, short: "0.5", "1.23457e-05"; "-" for a value that is not known (NaN).
std::string number(double value);

/// A value with its standard error in units of the last digits, as journals write it: 0.234(3), 0.2340(15),
/// 1.17(3)e-05. The error has two digits when the first is 1, else one. At most 13 characters: an error that
/// needs more is left out, like one that is not known (0 or NaN).
std::string with_error(const Estimate& estimate);

struct Column {
  std::string title;  ///< a line break in it makes the heading two lines
  int width = 13;
};

/// Right-aligned cells under a heading, printable row by row, and a remark after them.
class Table {
 public:
  static constexpr int columns_of_a_page = 80;
  static constexpr int widest_remark = 15;

  /// Leaves out columns from the end, but none of the first `kept`, until a row with its remark fits in a
  /// page.
  Table(std::vector<Column> columns, std::size_t kept);

  std::string heading() const;
  /// `cells` belong to the columns given at first, including those left out.
  std::string row(const std::vector<std::string>& cells, const std::string& remark = "") const;

 private:
  std::vector<Column> columns_;
};

/// A table as one text: its heading, then the rows added to it.
class TableText {
 public:
  TableText(std::vector<Column> columns, std::size_t kept);

  void add(const std::vector<std::string>& cells, const std::string& remark = "");
  const std::string& text() const { return text_; }

 private:
  Table table_;
  std::string text_;
};

/// One line of a list: what, its value, what it means.
std::string list_line(std::string_view name, std::string_view value, std::string_view meaning = "");

/// A list as one text, line by line.
class ListText {
 public:
  void add(std::string_view name, std::string_view value, std::string_view meaning = "") {
    add_line(list_line(name, value, meaning));
  }
  void add_line(std::string_view line);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace qklab::cli
