#include "qklab/cli/words/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace qklab::cli {
namespace {

int exponent_of(double value) {
  return value == 0 ? -400 : static_cast<int>(std::floor(std::log10(std::abs(value))));
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::string number(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.6g}", value);
}

std::string with_error(const Estimate& estimate) {
  const auto [value, se] = estimate;
  if (!(se > 0) || !std::isfinite(se) || !std::isfinite(value)) return number(value);
  const bool rounds_up = se >= 9.5 * std::pow(10.0, exponent_of(se));
  const int error_exponent = exponent_of(se) + (rounds_up ? 1 : 0);
  const int exponent = std::max(exponent_of(value), error_exponent);
  const bool scientific = exponent < -3 || exponent > 5 || error_exponent > 1;
  const int last_place = exponent - (scientific ? 4 : 5);
  if (error_exponent < last_place) return number(value);
  const bool two_digits = se < 2 * std::pow(10.0, error_exponent) && error_exponent > last_place + 1;
  const int place = error_exponent - (two_digits ? 1 : 0);
  const int decimals = std::max(0, (scientific ? exponent : 0) - place);
  const double unit = std::pow(10.0, (scientific ? exponent : 0) - decimals);
  const double scale = scientific ? std::pow(10.0, exponent) : 1;
  return fmt::format("{:.{}f}({:.0f})", value / scale, decimals, std::ceil(se / unit - 0.5)) +
         (scientific ? fmt::format("e{:+03}", exponent) : "");
}

Table::Table(std::vector<Column> columns, std::size_t kept) : columns_(std::move(columns)) {
  const auto width = [this] {
    int sum = widest_remark;
    for (const Column& column : columns_) sum += column.width + 1;
    return sum;
  };
  while (columns_.size() > kept && width() > columns_of_a_page) columns_.pop_back();
}

std::string Table::heading() const {
  std::string upper;
  std::string lower;
  for (const auto& [title, width] : columns_) {
    const std::size_t line_break = title.find('\n');
    const bool two_lines = line_break != std::string::npos;
    upper += fmt::format("{:>{}} ", two_lines ? title.substr(0, line_break) : "", width);
    lower += fmt::format("{:>{}} ", two_lines ? title.substr(line_break + 1) : title, width);
  }
  upper = without_trailing_blanks(upper);
  return (upper.empty() ? "" : upper + "\n") + without_trailing_blanks(lower);
}

std::string Table::row(const std::vector<std::string>& cells, const std::string& remark) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    line += fmt::format("{:>{}} ", cells.at(i), columns_[i].width);
  return without_trailing_blanks(line + remark);
}

TableText::TableText(std::vector<Column> columns, std::size_t kept)
    : table_(std::move(columns), kept), text_(table_.heading()) {}

void TableText::add(const std::vector<std::string>& cells, const std::string& remark) {
  text_.append("\n").append(table_.row(cells, remark));
}

void ListText::add_line(std::string_view line) {
  if (!text_.empty()) text_.append("\n");
  text_.append(line);
}

std::string list_line(std::string_view name, std::string_view value, std::string_view meaning) {
  return without_trailing_blanks(fmt::format("{:<20} {:<15} {}", name, value, meaning));
}

}  // namespace qklab::cli
