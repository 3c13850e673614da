#include "output.hpp"

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

}  // namespace qklab::cli
