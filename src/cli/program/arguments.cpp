#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "qklab/core/error.hpp"
#include "qklab/experiment/comparison/json.hpp"

namespace qklab::cli {
namespace {

/// Where CLI11 leaves the values of one verb's options.
struct Flag {
  experiment::Option option;
  std::string text;
  bool on = false;
  CLI::Option* parsed = nullptr;
};

struct Command {
  const Verb* verb = nullptr;
  CLI::App* app = nullptr;
  std::deque<Flag> flags;  // CLI11 keeps references to its entries
  std::string config;
};

std::string flag_name(std::string option) {
  std::ranges::replace(option, '_', '-');
  return "--" + option;
}

void add_flag(Command& command, const experiment::Option& option, const std::string& group) {
  Flag& flag = command.flags.emplace_back(Flag{option, "", false, nullptr});
  const std::string standard = option.standard.empty() ? "" : " [" + option.standard + "]";
  if (option.value.empty()) {
    flag.parsed = command.app->add_flag(flag_name(option.name), flag.on, option.meaning);
  } else {
    flag.parsed = command.app->add_option(flag_name(option.name), flag.text, option.meaning + standard)
                      ->option_text(option.value);
  }
  flag.parsed->group(group);
}

void add_command(CLI::App& app, Command& command, const Verb& verb) {
  command.verb = &verb;
  command.app = app.add_subcommand(verb.name, verb.meaning);
  command.app->footer(
      "NUMBERS: one number, a comma list, or a grid start:stop:count[:log]; lists and grids of several\n"
      "options are combined, alpha fastest. [ ]: the value when the option is not given.");
  for (const Verb::Group& group : verb.groups) {
    for (const experiment::Option& option : group.options) add_flag(command, option, group.title);
  }
  command.app->add_option("--config", command.config, "options from a TOML file; those given here win")
      ->option_text("FILE")
      ->group("Output");
}

std::string list_of(const std::vector<Verb>& verbs) {
  std::string list;
  for (const Verb& verb : verbs) list.append(list.empty() ? "" : ", ").append(verb.name);
  return list;
}

experiment::Description describe(const Command& command) {
  std::vector<experiment::Option> options;
  for (const Flag& flag : command.flags) options.push_back(flag.option);
  experiment::Description description(std::move(options));
  if (!command.config.empty()) description.read_toml(command.config);
  for (const Flag& flag : command.flags) {
    if (flag.parsed->count() == 0) continue;
    const std::string switched = flag.on ? "true" : "false";
    description.set(flag.option.name, flag.option.value.empty() ? switched : flag.text);
  }
  return description;
}

/// The first argument that no option takes, in words.
[[noreturn]] void refuse_extras(const std::vector<std::string>& extras, const Command* command,
                                const std::vector<Verb>& verbs) {
  const std::string first = extras.empty() ? "" : extras.front();
  if (command == nullptr) throw Error(first + ": unknown verb; allowed: " + list_of(verbs));
  std::string allowed = "--config";
  for (const Flag& flag : command->flags) allowed += ", " + flag_name(flag.option.name);
  throw Error(first + ": unknown option of " + command->verb->name + "; allowed: " + allowed);
}

}  // namespace

Arguments parse_arguments(int argc, const char* const* argv, const std::vector<Verb>& verbs) {
  CLI::App app("qklab: exact theory and trained models of the query-key map of attention", "qklab");
  app.set_version_flag("--version", "qklab " + std::string(experiment::version));
  app.allow_extras();
  app.require_subcommand(0, 1);
  std::deque<Command> commands;
  for (const Verb& verb : verbs) add_command(app, commands.emplace_back(), verb);
  for (Command& command : commands) command.app->allow_extras();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {app.help()};
  } catch (const CLI::CallForVersion& version) {
    return {version.what()};
  } catch (const CLI::ParseError& error) {
    throw Error(error.what());
  }

  const auto chosen = std::ranges::find_if(commands, [](const Command& c) { return c.app->parsed(); });
  const Command* command = chosen == commands.end() ? nullptr : &*chosen;
  if (const auto extras = app.remaining(true); !extras.empty()) refuse_extras(extras, command, verbs);
  if (command == nullptr) throw Error("a verb is required: " + list_of(verbs) + " (qklab --help)");
  return {"", command->verb, describe(*command)};
}

}  // namespace qklab::cli
