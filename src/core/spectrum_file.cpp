#include "qklab/core/spectrum_file.hpp"

#include <algorithm>
#include <boost/uuid/detail/sha1.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include "number_list.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

std::string contents(const std::string& path);
/// Negative entries within rounding become 0; how many. Throws FileError for an entry no teacher has.
int clear_rounding(const std::string& path, NumberList& list);
/// SHA-1, 40 hexadecimal digits.
std::string digest_of(const std::string& bytes);

}  // namespace

SpectrumTeacher read_spectrum(const std::string& path) {
  const std::string bytes = contents(path);
  NumberList list = is_npy(bytes) ? numbers_of_npy(path, bytes) : numbers_of_text(path, bytes);
  if (list.values.empty()) throw FileError(path, "holds no eigenvalue");
  const int rounded = clear_rounding(path, list);
  if (std::ranges::max(list.values) == 0) throw FileError(path, "at least one eigenvalue must be > 0");
  return {path, std::move(list.values), digest_of(bytes), rounded};
}

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileError(path, "cannot be opened for reading");
  try {
    return {std::istreambuf_iterator<char>(file), {}};
  } catch (const std::ios_base::failure&) {  // a folder, for one, opens but cannot be read
    throw FileError(path, "cannot be read to its end");
  }
}

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

int clear_rounding(const std::string& path, NumberList& list) {
  double largest = 0;
  for (const double value : list.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double rounding = static_cast<double>(list.values.size()) * list.epsilon * largest;
  int cleared = 0;
  for (std::size_t i = 0; i < list.values.size(); ++i) {
    double& value = list.values[i];
    const long place = list.places.empty() ? static_cast<long>(i) + 1 : list.places[i];
    const auto refuse = [&](const char* why) {
      throw FileError(
          path, std::string(list.unit) + " " + std::to_string(place) + ": '" + shortest(value) + "' " + why);
    };
    if (!std::isfinite(value)) refuse("is not a finite number");
    if (value < -rounding) refuse("is negative; a teacher's eigenvalues must be >= 0");
    if (value >= 0) continue;
    value = 0;
    ++cleared;
  }
  return cleared;
}

std::string digest_of(const std::string& bytes) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(bytes.data(), bytes.size());
  unsigned int words[5];
  hash.get_digest(words);
  std::string digits;
  for (const unsigned int word : words) {
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(word >> shift) & 15U];
  }
  return digits;
}

}  // namespace
}  // namespace qklab
