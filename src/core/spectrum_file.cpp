#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>

#include "qklab/core/error.hpp"
#include "qklab/core/problem.hpp"

namespace qklab {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n,;";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

double parse_eigenvalue(const std::string& path, long line_number, std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string where = "line " + std::to_string(line_number) + ": '" + std::string(text) + "' ";
  if (status != std::errc{} || end != text.data() + text.size())
    throw FileError(path, where + "is not a number");
  if (!std::isfinite(value)) throw FileError(path, where + "is not a finite number");
  if (value < 0) throw FileError(path, where + "is negative; a teacher's eigenvalues must be >= 0");
  return value;
}

}  // namespace

SpectrumTeacher read_spectrum(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw FileError(path, "cannot be opened for reading");
  SpectrumTeacher teacher{path, {}};
  std::string line;
  for (long number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    teacher.eigenvalues.push_back(parse_eigenvalue(path, number, text));
  }
  if (file.bad()) throw FileError(path, "cannot be read to its end");
  if (teacher.eigenvalues.empty()) throw FileError(path, "holds no eigenvalue");
  bool all_zero = true;
  for (double s : teacher.eigenvalues) all_zero = all_zero && s == 0;
  if (all_zero) throw FileError(path, "at least one eigenvalue must be > 0");
  return teacher;
}

}  // namespace qklab
