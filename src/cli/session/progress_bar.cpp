#include "qklab/cli/session/progress_bar.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace qklab::cli {
namespace {

constexpr int widest_bar = 30;
constexpr int narrowest_bar = 8;
constexpr double seconds_between_drawings = 0.1;

std::string duration(double seconds);
std::string bar(double share, int width);
int terminal_columns();
bool can_rewrite_a_line();

}  // namespace

std::string compose(const ProgressLine& line, int columns) {
  const double share = line.total > 0 ? std::clamp(line.done / line.total, 0.0, 1.0) : 0;
  const bool has_rate = line.done > 0 && line.seconds > 0;
  const double rate = has_rate ? line.done / line.seconds : 0;
  const std::string count = fmt::format("{:g}/{:g}", line.done, line.total);
  const std::string remaining = has_rate ? "ETA " + duration((line.total - line.done) / rate) : "ETA --";
  std::string speed;
  if (has_rate)
    speed = rate >= 1 ? fmt::format("  {:.3g}/s", rate) : fmt::format("  {:.3g} s each", 1 / rate);

  // From the fullest form to the barest; the bar takes what room is left.
  struct Form {
    std::string before;
    bool has_bar;
    std::string after;
  };
  const std::string detail = line.detail.empty() ? "" : "  " + line.detail;
  const std::vector<Form> forms{
      {line.stage + " " + count + " ", true, " " + remaining + speed + detail},
      {line.stage + " " + count + " ", true, " " + remaining + speed},
      {line.stage + " " + count + " ", true, " " + remaining},
      {line.stage + " " + count + " ", false, remaining},
      {count + " ", false, remaining},
  };
  for (const Form& form : forms) {
    const int text = static_cast<int>(form.before.size() + form.after.size());
    const int room = std::min(widest_bar, columns - text - 2);
    if (form.has_bar && room >= narrowest_bar) return form.before + bar(share, room) + form.after;
    if (!form.has_bar && text <= columns) return form.before + form.after;
  }
  return count.substr(0, static_cast<std::size_t>(std::max(0, columns)));
}

ProgressBar::ProgressBar(bool quiet) : shows_(!quiet && can_rewrite_a_line()) {}

ProgressBar::~ProgressBar() {
  clear();
}

ProgressCallback ProgressBar::whole() {
  return [this](const Progress& event) {
    line_.stage = event.stage;
    line_.done = event.done;
    line_.total = event.total;
    line_.detail.clear();
    draw();
  };
}

ProgressCallback ProgressBar::piece() {
  return [this](const Progress& event) {
    const bool counts = event.total > 1;
    line_.detail = counts ? fmt::format("{} {:g}", event.stage, event.done) : std::string(event.stage);
    draw();
  };
}

void ProgressBar::clear() {
  if (drawn_length_ == 0) return;
  // A terminal made narrower since then has broken the line into several.
  const int lines_above = (drawn_length_ - 1) / terminal_columns();
  std::string erase = "\r";
  if (lines_above > 0) erase += fmt::format("\x1b[{}A", lines_above);
  erase += "\x1b[J";
  (void)!::write(STDERR_FILENO, erase.data(), erase.size());
  drawn_length_ = 0;
}

void ProgressBar::draw() {
  const Clock::time_point now = Clock::now();
  const bool is_recent = std::chrono::duration<double>(now - drawn_at_).count() < seconds_between_drawings;
  if (!shows_ || is_recent) return;
  clear();
  line_.seconds = std::chrono::duration<double>(now - begin_).count();
  const std::string text = compose(line_, terminal_columns() - 1);
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  drawn_length_ = static_cast<int>(text.size());
  drawn_at_ = now;
}

namespace {

std::string duration(double seconds) {
  const double whole = std::ceil(seconds);
  if (!(whole < 360000)) return "> 100 h";
  const int s = static_cast<int>(whole);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string bar(double share, int width) {
  const int full = static_cast<int>(std::lround(share * width));
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '.') + "]";
}

int terminal_columns() {
  constexpr int usual = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : usual;
}

bool can_rewrite_a_line() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace
}  // namespace qklab::cli
