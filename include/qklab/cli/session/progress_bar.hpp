#pragma once

#include <chrono>
#include <string>

#include "qklab/core/progress.hpp"

namespace qklab::cli {

/// How far a piece of work is, for one line of a terminal.
struct ProgressLine {
  std::string stage;
  double done = 0;
  double total = 0;
  double seconds = 0;  ///< since the work began
  std::string detail;  ///< what is at work now, in a few words
};

/// The line in at most `columns` characters: what does not fit is left out, the detail first, then the rate,
/// the bar, the remaining time and the stage.
std::string compose(const ProgressLine& line, int columns);

/// A live line at the foot of the terminal behind standard error, at most ten times a second; nothing
/// anywhere else.
class ProgressBar {
 public:
  /// Shows nothing when `quiet`, or when standard error is no terminal that can rewrite a line.
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// How far the whole work is; the rate and the remaining time follow from it.
  ProgressCallback whole();
  /// How far the piece at work is, shown in words beside the whole.
  ProgressCallback piece();

  /// Takes the line away until the next event, to make room for other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  bool shows_;
  ProgressLine line_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_at_{};
  int drawn_length_ = 0;
};

}  // namespace qklab::cli
