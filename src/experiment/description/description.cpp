#include "qklab/experiment/description/description.hpp"

#include <algorithm>
#include <utility>

#include "qklab/core/error.hpp"
#include "qklab/experiment/description/grid.hpp"
#include "toml_file.hpp"

namespace qklab::experiment {
namespace {

std::string names(const std::vector<Option>& options) {
  std::string list;
  for (const Option& option : options) list += (list.empty() ? "" : ", ") + option.name;
  return list;
}

}  // namespace

Description::Description(std::vector<Option> options) : options_(std::move(options)) {}

void Description::set(const std::string& name, const std::string& text) {
  settings_[option(name).name] = {text, ""};
}

void Description::read_toml(const std::string& path) {
  for (const TomlEntry& entry : read_toml_entries(path)) {
    const std::string place = path + ":" + std::to_string(entry.line);
    const auto known = std::ranges::find(options_, entry.key, &Option::name);
    if (known == options_.end()) {
      throw FileError(place, entry.key + ": unknown key; allowed: " + names(options_));
    }
    const bool is_switch = known->value.empty();
    if (is_switch != entry.is_boolean) {
      throw FileError(place, entry.key + " = " + entry.text + ": must be " +
                                 (is_switch ? "true or false" : "a number, text or a list: " + known->value));
    }
    settings_[entry.key] = {entry.text, place + ": "};
  }
}

bool Description::given(const std::string& name) const {
  return settings_.contains(name);
}

std::string Description::text(const std::string& name) const {
  if (const auto found = settings_.find(name); found != settings_.end()) return found->second.text;
  const Option& asked = option(name);
  if (asked.standard.empty()) {
    throw InvalidParameter(name, "(not given)", "is required: " + asked.meaning + " (" + asked.value + ")");
  }
  return asked.standard;
}

bool Description::on(const std::string& name) const {
  return given(name) && text(name) == "true";
}

double Description::number(const std::string& name) const {
  return parse_number(label(name), text(name));
}

long Description::whole_number(const std::string& name, long lowest, long highest) const {
  return parse_whole_number(label(name), text(name), lowest, highest);
}

std::vector<double> Description::numbers(const std::string& name) const {
  return parse_numbers(label(name), text(name));
}

std::vector<double> Description::whole_numbers(const std::string& name) const {
  return parse_whole_numbers(label(name), text(name));
}

void Description::refuse(const std::string& name, const std::string& reason) const {
  if (given(name)) throw InvalidParameter(label(name), text(name), reason);
}

const Option& Description::option(const std::string& name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  if (found == options_.end()) {
    throw InvalidParameter("option", name, "unknown; allowed: " + names(options_));
  }
  return *found;
}

std::string Description::label(const std::string& name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? name : found->second.source + name;
}

}  // namespace qklab::experiment
