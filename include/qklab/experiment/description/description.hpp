#pragma once

#include <map>
#include <string>
#include <vector>

namespace qklab::experiment {

/// One option of a description. Its name is the key in TOML; with dashes for underscores it is the flag.
struct Option {
  std::string name;      ///< "noise_in"
  std::string value;     ///< what it takes, in a word or two for the help; empty: a switch, true or false
  std::string meaning;   ///< for the help
  std::string standard;  ///< the value when it is not given; empty: it has none
};

/// What a user asked for: options by name, from a TOML file and from the command line, which wins.
///
/// Values are kept as they were written and converted when asked for; every error names the option, the value
/// and, for a value from a file, the file and line.
class Description {
 public:
  /// `options` are those that may be given; any other name is an error.
  explicit Description(std::vector<Option> options);

  /// Gives an option a value, in place of any it had. Throws InvalidParameter for a name that is no option.
  void set(const std::string& name, const std::string& text);

  /// Gives every option that a TOML file names its value: key = number, text, true, false or a list of
  /// numbers and grids. Throws FileError, with file and line, for a file that cannot be read, is no TOML, or
  /// holds an unknown key.
  void read_toml(const std::string& path);

  bool given(const std::string& name) const;

  /// The value as written, or the standard one. Throws InvalidParameter when there is neither.
  std::string text(const std::string& name) const;

  bool on(const std::string& name) const;
  double number(const std::string& name) const;
  long whole_number(const std::string& name, long lowest, long highest) const;
  std::vector<double> numbers(const std::string& name) const;
  std::vector<double> whole_numbers(const std::string& name) const;

  /// Throws InvalidParameter with `reason` if the option was given: an option without effect is a mistake.
  void refuse(const std::string& name, const std::string& reason) const;

  const std::vector<Option>& options() const { return options_; }

 private:
  struct Setting {
    std::string text;
    std::string source;  ///< "run.toml:3: ", empty for the command line
  };

  const Option& option(const std::string& name) const;
  /// The option's name for messages, with the place its value came from.
  std::string label(const std::string& name) const;

  std::vector<Option> options_;
  std::map<std::string, Setting> settings_;
};

}  // namespace qklab::experiment
