#include "output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace qklab::cli {
namespace {

/// False when the write failed; errno says why.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void print_line(std::string line) {
  line += '\n';
  if (write_all(STDOUT_FILENO, line)) return;
  if (errno == EPIPE) throw ClosedOutput();
  throw std::system_error(errno, std::generic_category(), "standard output");
}

void complain(std::string message) {
  std::ranges::replace(message, '\n', ' ');
  write_all(STDERR_FILENO, "qklab: " + message + "\n");
}

Silence::Silence() : standard_error_(::dup(STDERR_FILENO)) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

Silence::~Silence() {
  ::dup2(standard_error_, STDERR_FILENO);
  ::close(standard_error_);
}

}  // namespace qklab::cli
