#include "signals.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace qklab::cli {
namespace {

// A signal handler has no other way to speak to the program.
std::atomic<bool> stop_requested{false};
std::atomic<int> received{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int number) {
  if (stop_requested.exchange(true)) ::_exit(128 + number);
  received.store(number);
}

}  // namespace

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

StopToken stop_token() {
  return StopToken(stop_requested);
}

int signal_status() {
  const int number = received.load();
  return number == 0 ? 0 : 128 + number;
}

}  // namespace qklab::cli
