#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "number_list.hpp"
#include "qklab/core/error.hpp"

// Layout: the magic string, two bytes of version, the length of the header (2 bytes in version 1, 4 later,
// little endian), the header, a Python dictionary literal {'descr': ..., 'fortran_order': ..., 'shape': ...},
// then the numbers. Source: numpy.lib.format in NumPy's reference.

namespace qklab {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Header and numbers of the file. Throws FileError for a file that ends before its header does.
struct Parts {
  std::string_view header;
  std::string_view data;
};
Parts parts_of(const std::string& path, std::string_view bytes);
/// The text after 'key': in the header.
std::string_view entry(const std::string& path, std::string_view header, std::string_view key);
/// The number of entries. Throws FileError unless at most one axis is longer than 1.
std::size_t length(const std::string& path, std::string_view header);

/// One entry of a stored type, as double.
using Read = double (*)(const char*, bool is_swapped);
struct StoredType {
  std::string_view code;
  std::size_t bytes;
  double epsilon;
  Read read;
};
StoredType stored_type(const std::string& path, std::string_view code);

}  // namespace

bool is_npy(std::string_view bytes) {
  return bytes.starts_with(magic);
}

NumberList numbers_of_npy(const std::string& path, std::string_view bytes) {
  const auto [header, data] = parts_of(path, bytes);
  std::string_view code = entry(path, header, "descr");
  if (!code.starts_with('\'')) throw FileError(path, "holds records, not one array of numbers");
  code = code.substr(1, code.substr(1).find('\''));
  const StoredType type = stored_type(path, code.empty() ? code : code.substr(1));
  const std::size_t count = length(path, header);
  if (data.size() / type.bytes < count) {
    throw FileError(path, "is cut short: it should hold " + std::to_string(count) + " numbers, and holds " +
                              std::to_string(data.size() / type.bytes));
  }
  const char order = code.front();
  const bool is_swapped = order == (std::endian::native == std::endian::little ? '>' : '<');
  NumberList list;
  list.unit = "entry";
  list.epsilon = type.epsilon;
  list.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    list.values[i] = type.read(data.data() + i * type.bytes, is_swapped);
  }
  return list;
}

namespace {

Parts parts_of(const std::string& path, std::string_view bytes) {
  constexpr std::size_t version = magic.size();
  const std::size_t width = bytes.size() > version && bytes[version] == 1 ? 2 : 4;
  const std::size_t begin = version + 2 + width;
  if (bytes.size() < begin) throw FileError(path, "is cut short within the header of numpy.save");
  std::size_t size = 0;
  for (std::size_t i = 0; i < width; ++i) {
    size |= std::size_t{static_cast<unsigned char>(bytes[version + 2 + i])} << (8 * i);
  }
  if (size > bytes.size() - begin) throw FileError(path, "is cut short within the header of numpy.save");
  return {bytes.substr(begin, size), bytes.substr(begin + size)};
}

std::string_view entry(const std::string& path, std::string_view header, std::string_view key) {
  const std::size_t found = header.find(key);
  if (found == std::string_view::npos) {
    throw FileError(path, "the header of numpy.save lacks its " + std::string(key));
  }
  constexpr std::string_view after = "':";
  const std::string_view rest = header.substr(std::min(found + key.size() + after.size(), header.size()));
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

std::size_t length(const std::string& path, std::string_view header) {
  const std::string_view shape = entry(path, header, "shape");
  const std::string_view axes = shape.substr(0, std::min(shape.find(')'), shape.size() - 1) + 1);
  std::size_t count = 1;
  int long_axes = 0;
  for (std::size_t at = axes.find_first_of("0123456789"); at < axes.size();
       at = axes.find_first_of("0123456789", at)) {
    std::size_t axis = 0;
    const auto [end, status] = std::from_chars(axes.data() + at, axes.data() + axes.size(), axis);
    if (status != std::errc{}) throw FileError(path, "the header of numpy.save has no readable shape");
    at = static_cast<std::size_t>(end - axes.data());
    if (axis == 1) continue;
    ++long_axes;
    count = axis;
  }
  if (long_axes > 1) {
    throw FileError(path, "holds an array of shape " + printable(axes) +
                              "; a spectrum is one row or one column of eigenvalues");
  }
  return count;
}

template <class Number>
double read_as(const char* from, bool is_swapped) {
  char bytes[sizeof(Number)];
  std::copy_n(from, sizeof(Number), bytes);
  if (is_swapped) std::reverse(bytes, bytes + sizeof(Number));
  Number number{};
  std::memcpy(&number, bytes, sizeof(Number));
  return static_cast<double>(number);
}

StoredType stored_type(const std::string& path, std::string_view code) {
  constexpr double of_double = std::numeric_limits<double>::epsilon();
  constexpr double of_float = std::numeric_limits<float>::epsilon();
  static constexpr StoredType types[] = {
      {"f8", 8, of_double, read_as<double>},        {"f4", 4, of_float, read_as<float>},
      {"i8", 8, of_double, read_as<std::int64_t>},  {"i4", 4, of_double, read_as<std::int32_t>},
      {"i2", 2, of_double, read_as<std::int16_t>},  {"i1", 1, of_double, read_as<std::int8_t>},
      {"u8", 8, of_double, read_as<std::uint64_t>}, {"u4", 4, of_double, read_as<std::uint32_t>},
      {"u2", 2, of_double, read_as<std::uint16_t>}, {"u1", 1, of_double, read_as<std::uint8_t>}};
  const auto* const found = std::ranges::find(types, code, &StoredType::code);
  if (found == std::end(types)) {
    throw FileError(
        path, "holds numbers of type '" + printable(code) + "'; real numbers (f8, f4, or integers) are read");
  }
  return *found;
}

}  // namespace
}  // namespace qklab
