#include "python.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "qklab/core/error.hpp"

namespace qklab::cli {
namespace {

namespace fs = std::filesystem;

/// Looks for the modules without the second that importing them takes.
constexpr const char* finds_what_figures_need = R"(
import importlib.util, sys
for name in ("numpy", "matplotlib", "qklab", "qklab.figures"):
    if importlib.util.find_spec(name) is None:
        sys.exit(f"it has no module {name}")
)";

/// A file without a name, gone when closed: what a child reads or writes, of any size, without waiting on
/// each other.
using ScratchFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

fs::path project_of_executable();
/// Runs a command; returns what it wrote to standard error if it failed, else nothing.
std::string failure_of(const Python& python, std::vector<std::string> arguments, const std::string& input);
std::vector<std::string> environment_with_package(const fs::path& package);
std::vector<char*> pointers(std::vector<std::string>& texts);
ScratchFile scratch_file();
std::string content(std::FILE* file);
std::string last_line(std::string text);

}  // namespace

Python find_python() {
  const fs::path project = project_of_executable();
  const char* chosen = std::getenv("QKLAB_PYTHON");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  Python python;
  python.interpreter = is_chosen ? fs::path(chosen) : project / ".venv" / "bin" / "python";
  if (!project.empty()) python.package = project / "python";
  if (!is_chosen && project.empty()) {
    throw FileError("plot",
                    "figures are drawn by Python; set QKLAB_PYTHON to an interpreter that has qklab.figures");
  }
  const std::string failure = failure_of(python, {"-c", finds_what_figures_need}, "");
  if (!failure.empty()) {
    throw FileError(python.interpreter.string(),
                    "cannot draw figures (" + failure +
                        "); `make python` makes the project's own Python environment, "
                        "QKLAB_PYTHON names another");
  }
  return python;
}

void draw_figure(const Python& python, const std::string& document, const fs::path& output) {
  const std::string failure = failure_of(python, {"-m", "qklab.figures", "--", output.string()}, document);
  if (!failure.empty())
    throw std::runtime_error(output.string() + ": the figure could not be drawn: " + failure);
}

namespace {

/// The nearest directory above the executable that holds the figures; empty when there is none.
fs::path project_of_executable() {
  std::error_code error;
  for (fs::path here = fs::read_symlink("/proc/self/exe", error); here.has_relative_path();
       here = here.parent_path()) {
    if (fs::exists(here / "python" / "qklab" / "figures", error)) return here;
  }
  return {};
}

std::string failure_of(const Python& python, std::vector<std::string> arguments, const std::string& input) {
  const ScratchFile in = scratch_file();
  const ScratchFile errors = scratch_file();
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() || std::fflush(in.get()) != 0) {
    throw FileError("plot", "the figure's document cannot be written to the temporary directory");
  }
  std::rewind(in.get());

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ::fileno(in.get()), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ::fileno(errors.get()), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ::fileno(errors.get()), STDERR_FILENO);
  arguments.insert(arguments.begin(), python.interpreter.string());
  std::vector<std::string> environment = environment_with_package(python.package);
  pid_t child = 0;
  const int refused = ::posix_spawnp(&child, python.interpreter.c_str(), &files, nullptr,
                                     pointers(arguments).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  if (refused != 0) return std::generic_category().message(refused);

  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string message = last_line(content(errors.get()));
  return message.empty() ? "it ended with status " + std::to_string(status) : message;
}

std::vector<std::string> environment_with_package(const fs::path& package) {
  const std::string key = "PYTHONPATH=";
  // Else a file of the working directory could stand in for a module.
  std::vector<std::string> environment{"PYTHONSAFEPATH=1"};
  std::string path = package.string();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!text.starts_with(key)) {
      environment.push_back(text);
    } else if (text.size() > key.size()) {
      path.append(path.empty() ? "" : ":").append(text, key.size());
    }
  }
  if (!path.empty()) environment.push_back(path.insert(0, key));
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

ScratchFile scratch_file() {
  ScratchFile file(std::tmpfile(), &std::fclose);
  if (!file) throw FileError("plot", "no temporary file can be made for the figure's document");
  return file;
}

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 4096> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), file))
    text.append(block.data(), count);
  return text;
}

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace
}  // namespace qklab::cli
