#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "number_list.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

constexpr std::string_view blanks = " \t\f\v";
constexpr std::string_view separators = ",;";

/// Throws FileError for what is recognisably something else than text.
void require_text(const std::string& path, std::string_view bytes);
std::string_view without_byte_order_mark(std::string_view text);
/// Takes the next line from `rest`, without its end (\n, \r\n or \r).
std::string_view take_line(std::string_view& rest);
std::string_view trimmed(std::string_view text);
/// The entries of one line without its comment; several trailing separators end it, as spreadsheets write.
std::vector<std::string_view> fields(const std::string& path, const std::string& where,
                                     std::string_view line);
double parse(const std::string& path, const std::string& where, std::string_view field);

}  // namespace

NumberList numbers_of_text(const std::string& path, std::string_view text) {
  require_text(path, text);
  NumberList list;
  list.epsilon = std::numeric_limits<double>::epsilon();
  std::string_view rest = without_byte_order_mark(text);
  long lines_with_numbers = 0;
  for (long number = 1; !rest.empty(); ++number) {
    const std::string where = "line " + std::to_string(number) + ": ";
    const std::string_view line = take_line(rest);
    const std::vector<std::string_view> entries = fields(path, where, line.substr(0, line.find('#')));
    if (entries.empty()) continue;
    ++lines_with_numbers;
    for (const std::string_view entry : entries) {
      list.values.push_back(parse(path, where, entry));
      list.places.push_back(number);
    }
    if (lines_with_numbers > 1 && std::ssize(list.values) != lines_with_numbers) {
      throw FileError(path, where +
                                "several numbers on one of several lines; a spectrum is one column or "
                                "one row, with a point in each number, not a comma");
    }
  }
  return list;
}

std::string printable(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

namespace {

void require_text(const std::string& path, std::string_view bytes) {
  const auto refuse = [&](const char* reason) { throw FileError(path, reason); };
  if (bytes.starts_with("PK\x03\x04")) {
    refuse(
        "is an archive (numpy.savez? a spreadsheet's own format?); save the one list by numpy.save or as "
        "text");
  }
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) {
    refuse("is text in UTF-16; save it in UTF-8");
  }
  const bool is_binary = std::ranges::any_of(bytes, [](char c) {
    return (c >= 0 && c < ' ' && blanks.find(c) == std::string_view::npos && c != '\n' && c != '\r') ||
           c == '\x7f';
  });
  if (is_binary) refuse("is neither text nor an array of numpy.save");
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find_first_of("\r\n");
  const std::string_view line = rest.substr(0, end);
  if (end == std::string_view::npos) {
    rest = {};
  } else {
    rest.remove_prefix(rest.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> fields(const std::string& path, const std::string& where,
                                     std::string_view line) {
  std::vector<std::string_view> found;
  std::string_view rest = trimmed(line);
  while (!rest.empty() && (separators.find(rest.back()) != std::string_view::npos)) {
    rest = trimmed(rest.substr(0, rest.size() - 1));
  }
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(std::string(blanks) + ",;"), rest.size());
    if (end == 0) throw FileError(path, where + "an entry is empty");
    found.push_back(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
    if (!rest.empty() && separators.find(rest.front()) != std::string_view::npos) {
      rest = trimmed(rest.substr(1));
    }
  }
  return found;
}

double parse(const std::string& path, const std::string& where, std::string_view field) {
  const std::string shown = where + "'" + printable(field) + "' ";
  if (field.size() > 1 && field.front() == '+' && field[1] != '-') field.remove_prefix(1);
  double value = 0;
  const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end != field.data() + field.size()) throw FileError(path, shown + "is not a number");
  if (status != std::errc{} || !std::isfinite(value)) throw FileError(path, shown + "is not a finite number");
  return value;
}

}  // namespace
}  // namespace qklab
