#include "qklab/lab/online/escape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qklab::lab {
namespace {

/// Q0 - t0^2 that is rounding of Q0 is none.
double variance_of(double self_overlap, double trace) {
  const double variance = self_overlap - trace * trace;
  return variance > 1e-12 * self_overlap ? variance : 0;
}

double ratio(double value, double square) {
  return square > 0 ? value / std::sqrt(square) : 0;
}

}  // namespace

EscapeWatch::EscapeWatch(std::span<const double> thresholds, double teacher_self_overlap,
                         double teacher_trace)
    : teacher_variance_(variance_of(teacher_self_overlap, teacher_trace)), teacher_trace_(teacher_trace) {
  constexpr double never = std::numeric_limits<double>::infinity();
  for (double threshold : thresholds) escapes_.push_back({threshold, never, never});
}

void EscapeWatch::see(double time, double overlap, double self_overlap, double trace) {
  const double variance = variance_of(self_overlap, trace);
  const bool first = start_variance_ < 0;
  if (first) start_variance_ = variance;
  const double fraction = ratio(std::abs(overlap - trace * teacher_trace_),
                                teacher_variance_ * std::max(variance, start_variance_));
  for (Escape& escape : escapes_) {
    if (std::isfinite(escape.time) || !(fraction > escape.threshold)) continue;
    const double way = first ? 1 : (escape.threshold - last_fraction_) / (fraction - last_fraction_);
    escape.time = last_time_ + way * (time - last_time_);
    escape.samples = 0;
  }
  last_time_ = time;
  last_fraction_ = fraction;
}

bool EscapeWatch::all_passed() const {
  return std::ranges::all_of(escapes_, [](const Escape& escape) { return std::isfinite(escape.time); });
}

double centred_alignment(double overlap, double self_overlap, double trace, double teacher_self_overlap,
                         double teacher_trace) {
  return ratio(overlap - trace * teacher_trace,
               variance_of(self_overlap, trace) * variance_of(teacher_self_overlap, teacher_trace));
}

}  // namespace qklab::lab
