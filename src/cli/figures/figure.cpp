#include "figure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "qklab/core/error.hpp"

namespace qklab::cli {
namespace {

namespace fs = std::filesystem;

void require_known_ending(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  if (ending != ".svg" && ending != ".pdf" && ending != ".png") {
    throw InvalidParameter("plot", path.string(), "the file must end in .svg, .pdf or .png");
  }
}

void require_writable(const fs::path& path) {
  const auto refuse = [&](int error) {
    throw InvalidParameter("plot", path.string(),
                           "must be a file that can be written: " + std::generic_category().message(error));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse(EISDIR);
  if (fs::exists(path, ignored) && ::access(path.c_str(), W_OK) != 0) refuse(errno);
  // Whether a directory takes new files is known only by making one: permissions do not bind every user, nor
  // do they tell of file systems that are read-only.
  const fs::path probe = path.parent_path() / fmt::format(".{}.{}", path.filename().string(), ::getpid());
  const int descriptor = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) refuse(errno);
  ::close(descriptor);
  ::unlink(probe.c_str());
}

}  // namespace

Figure::Figure(const std::string& path) : path_(path) {
  require_known_ending(path_);
  require_writable(path_);
  python_ = find_python();
}

void Figure::draw(const experiment::Json& document) const {
  draw_figure(python_, document.dump(), path_);
}

std::optional<Figure> figure_of(const Session& session) {
  if (!session.options.given("plot") || session.ranks.rank() > 0) return std::nullopt;
  return Figure(session.options.text("plot"));
}

}  // namespace qklab::cli
