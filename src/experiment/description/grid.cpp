#include "qklab/experiment/description/grid.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "qklab/core/error.hpp"

namespace qklab::experiment {
namespace {

constexpr double most_points = 1e5;
constexpr double largest_exact = 9007199254740992;  // 2^53: every whole number up to it is a double

/// A grid start:stop:count[:log] as written.
struct Grid {
  double start = 0;
  double stop = 0;
  int count = 0;
  bool logarithmic = false;
};

Grid parse_grid(const std::string& name, const std::string& text);
std::vector<double> points(const Grid& grid);
std::vector<std::string> split(const std::string& text, char separator);
std::string trimmed(const std::string& text);
std::optional<double> finite_number(const std::string& text);

bool is_whole(double value) {
  return value == std::round(value) && std::abs(value) <= largest_exact;
}

}  // namespace

std::vector<double> parse_numbers(const std::string& name, const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& entry : split(text, ',')) {
    if (entry.find(':') != std::string::npos) {
      const std::vector<double> grid = points(parse_grid(name, entry));
      numbers.insert(numbers.end(), grid.begin(), grid.end());
    } else if (const auto value = finite_number(entry)) {
      numbers.push_back(*value);
    } else {
      throw InvalidParameter(
          name, text, "must be a finite number, a comma list of them or a grid start:stop:count[:log]");
    }
  }
  return numbers;
}

std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names = split(text, ',');
  for (std::string& name : names) name = trimmed(name);
  if (names.size() > 1 && names.back().empty()) names.pop_back();
  return names;
}

std::vector<double> parse_whole_numbers(const std::string& name, const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& entry : split(text, ',')) {
    const bool is_grid = entry.find(':') != std::string::npos;
    for (double value : parse_numbers(name, entry)) {
      if (is_grid) value = std::round(value);
      if (!is_whole(value)) throw InvalidParameter(name, trimmed(entry), "must be a whole number");
      numbers.push_back(value);
    }
  }
  return numbers;
}

double parse_number(const std::string& name, const std::string& text) {
  const auto value = finite_number(text);
  if (!value) throw InvalidParameter(name, text, "must be one finite number");
  return *value;
}

long parse_whole_number(const std::string& name, const std::string& text, long lowest, long highest) {
  const auto value = finite_number(text);
  if (!value || !is_whole(*value) || *value < static_cast<double>(lowest) ||
      *value > static_cast<double>(highest)) {
    throw InvalidParameter(
        name, text, "must be one whole number in " + std::to_string(lowest) + ".." + std::to_string(highest));
  }
  return static_cast<long>(*value);
}

namespace {

Grid parse_grid(const std::string& name, const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool logarithmic = parts.size() == 4 && trimmed(parts[3]) == "log";
  if (parts.size() != 3 && !logarithmic) {
    throw InvalidParameter(name, trimmed(text),
                           "a grid must be written start:stop:count or start:stop:count:log");
  }
  const auto start = finite_number(parts[0]);
  const auto stop = finite_number(parts[1]);
  const auto count = finite_number(parts[2]);
  if (!start || !stop)
    throw InvalidParameter(name, trimmed(text), "start and stop of a grid must be finite numbers");
  if (!count || !is_whole(*count) || *count < 2 || *count > most_points) {
    throw InvalidParameter(name, trimmed(text), "the count of a grid must be a whole number in 2..100000");
  }
  if (logarithmic && !(*start > 0 && *stop > 0)) {
    throw InvalidParameter(name, trimmed(text), "start and stop of a logarithmic grid must be > 0");
  }
  return {*start, *stop, static_cast<int>(*count), logarithmic};
}

std::vector<double> points(const Grid& grid) {
  std::vector<double> values(static_cast<std::size_t>(grid.count));
  for (int i = 0; i < grid.count; ++i) {
    const double t = static_cast<double>(i) / (grid.count - 1);
    values[i] = grid.logarithmic ? grid.start * std::pow(grid.stop / grid.start, t)
                                 : grid.start + t * (grid.stop - grid.start);
  }
  values.back() = grid.stop;
  return values;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::string trimmed(const std::string& text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<double> finite_number(const std::string& text) {
  const std::string digits = trimmed(text);
  const char* begin = digits.data();
  const char* end = begin + digits.size();
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') ++begin;
  double value = 0;
  const auto [stopped, status] = std::from_chars(begin, end, value);
  if (status != std::errc{} || stopped != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace
}  // namespace qklab::experiment
