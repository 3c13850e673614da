#include "toml_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "qklab/core/error.hpp"

namespace qklab::experiment {
namespace {

std::string whole_text(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    throw FileError(path, "cannot be read; must be a TOML file of options");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string place(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line);
}

toml::table parse(const std::string& path) {
  try {
    return toml::parse(whole_text(path), path);
  } catch (const toml::parse_error& error) {
    throw FileError(place(path, error.source()), std::string(error.description()));
  }
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* text = node.as_string()) return text->get();
  return std::nullopt;
}

std::optional<std::string> list_text(const toml::array& list) {
  std::string text;
  for (const toml::node& node : list) {
    const auto entry = scalar_text(node);
    if (!entry) return std::nullopt;
    text += (text.empty() ? "" : ",") + *entry;
  }
  return text;
}

}  // namespace

std::vector<TomlEntry> read_toml_entries(const std::string& path) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : parse(path)) {
    TomlEntry entry{std::string(key.str()), "", node.is_boolean(),
                    static_cast<long>(key.source().begin.line)};
    std::optional<std::string> text;
    if (const auto* boolean = node.as_boolean()) {
      text = boolean->get() ? "true" : "false";
    } else if (const auto* list = node.as_array()) {
      text = list_text(*list);
    } else {
      text = scalar_text(node);
    }
    // A table is named by its key, which the description knows not.
    if (!text && !node.is_table()) {
      throw FileError(place(path, key.source()),
                      entry.key + ": must be a number, text, true, false or a list of numbers and text");
    }
    entry.text = text.value_or("[table]");
    entries.push_back(entry);
  }
  std::ranges::stable_sort(entries, {}, &TomlEntry::line);
  return entries;
}

}  // namespace qklab::experiment
