#pragma once

#include <string>
#include <vector>

namespace qklab::experiment {

/// Numbers written as a list "0.1, 1, 10" whose entries are numbers or grids start:stop:count[:log].
///
/// A grid has count >= 2 points from start to stop, both included, equally spaced in x or (log; both ends >
/// 0) in log x. Throws InvalidParameter under `name` for anything else, and for values that are not finite.
std::vector<double> parse_numbers(const std::string& name, const std::string& text);

/// The same for whole numbers: entries must be whole, the inner points of a grid are rounded.
std::vector<double> parse_whole_numbers(const std::string& name, const std::string& text);

/// One finite number; throws InvalidParameter under `name` for anything else.
double parse_number(const std::string& name, const std::string& text);

/// One whole number in lowest..highest; throws InvalidParameter under `name` for anything else.
long parse_whole_number(const std::string& name, const std::string& text, long lowest, long highest);

/// The entries of a comma list, without the blanks around them; a comma may end the list.
std::vector<std::string> parse_names(const std::string& text);

}  // namespace qklab::experiment
