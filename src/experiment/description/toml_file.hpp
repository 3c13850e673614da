#pragma once

#include <string>
#include <vector>

namespace qklab::experiment {

/// One key of a TOML file; lists are written as "1,2,3", numbers with all their digits.
struct TomlEntry {
  std::string key;
  std::string text;
  bool is_boolean = false;
  long line = 0;
};

/// The keys of a flat TOML file in the order of its lines. Throws FileError for a file that cannot be read or
/// is no TOML, and for values that are neither number, text, boolean nor a list of numbers and text.
std::vector<TomlEntry> read_toml_entries(const std::string& path);

}  // namespace qklab::experiment
