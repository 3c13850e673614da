#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qklab {

/// The numbers of a file in their order, and where each stood.
struct NumberList {
  std::vector<double> values;
  std::vector<long> places;  ///< from 1; empty: the position in `values`
  const char* unit = "line";
  double epsilon = 0;  ///< relative spacing of the type they were stored in
};

/// One column or one row of numbers in text. `path` is for messages. Throws FileError for what is no such
/// text.
NumberList numbers_of_text(const std::string& path, std::string_view text);

/// Whether a file that begins like this was written by numpy.save.
bool is_npy(std::string_view bytes);

/// The one array of numpy.save, versions 1 to 3 of its format. Throws FileError when it is cut short, not of
/// real numbers, or has two axes longer than 1.
NumberList numbers_of_npy(const std::string& path, std::string_view bytes);

/// At most the first 40 characters, with ? for what is not plain ASCII.
std::string printable(std::string_view text);

}  // namespace qklab
