#include "online_measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qklab/lab/measure.hpp"

namespace qklab::lab {
namespace {

double ratio(double value, double square) {
  return square > 0 ? value / std::sqrt(square) : 0;
}

}  // namespace

OnlinePoint measure_overlaps(const std::vector<Matrix>& students, const std::vector<Matrix>& teachers) {
  const auto heads = std::ssize(students);
  const auto teacher_heads = std::ssize(teachers);
  const auto d = static_cast<double>(teachers.front().rows());
  OnlinePoint point;
  point.overlaps.resize(heads, teacher_heads);
  point.self_overlaps.resize(heads, heads);
  double teacher_self_overlap = 0;
  for (const Matrix& teacher : teachers) teacher_self_overlap += overlap(teacher, teacher);
  for (std::ptrdiff_t k = 0; k < heads; ++k) {
    for (std::ptrdiff_t l = 0; l < teacher_heads; ++l) {
      point.overlaps(k, l) = overlap(students[k], teachers[l]);
    }
    for (std::ptrdiff_t l = 0; l <= k; ++l) {
      point.self_overlaps(k, l) = point.self_overlaps(l, k) = overlap(students[k], students[l]);
    }
    point.traces.push_back(students[k].trace() / d);
    point.trace += point.traces.back();
    point.self_overlap += point.self_overlaps(k, k);
    point.transposed_overlap += students[k].cwiseProduct(students[k].transpose()).sum() / d;
    if (k < teacher_heads) point.overlap += point.overlaps(k, k);
  }
  point.alignment = ratio(point.overlap, point.self_overlap * teacher_self_overlap);
  point.centred_alignment = std::numeric_limits<double>::quiet_NaN();
  if (heads == 1 && teacher_heads == 1) {
    const double t0 = teachers.front().trace() / d;
    point.centred_alignment =
        ratio(point.overlap - point.trace * t0,
              (point.self_overlap - point.trace * point.trace) * (teacher_self_overlap - t0 * t0));
  }
  return point;
}

void measure_spectra(const Matrix& student, bool untied, OnlinePoint& point) {
  point.eigenvalues = symmetric_modes(symmetric_part(student)).values;
  if (untied) point.singular_values = singular_values(student);
}

EscapeWatch::EscapeWatch(std::span<const double> thresholds, double teacher_self_overlap,
                         double teacher_trace)
    : teacher_variance_(teacher_self_overlap - teacher_trace * teacher_trace), teacher_trace_(teacher_trace) {
  constexpr double never = std::numeric_limits<double>::infinity();
  for (double threshold : thresholds) escapes_.push_back({threshold, never, never});
}

void EscapeWatch::see(const OnlinePoint& point) {
  const double variance = point.self_overlap - point.trace * point.trace;
  const bool first = start_variance_ < 0;
  if (first) start_variance_ = std::max(0.0, variance);
  const double fraction = ratio(std::abs(point.overlap - point.trace * teacher_trace_),
                                teacher_variance_ * std::max(variance, start_variance_));
  for (Escape& escape : escapes_) {
    if (std::isfinite(escape.time) || !(fraction > escape.threshold)) continue;
    const double way =
        first ? 1 : (escape.threshold - last_fraction_) / std::max(fraction - last_fraction_, 1e-300);
    escape.time = last_time_ + way * (point.time - last_time_);
  }
  last_time_ = point.time;
  last_fraction_ = fraction;
}

bool EscapeWatch::all_passed() const {
  return std::ranges::all_of(escapes_, [](const Escape& escape) { return std::isfinite(escape.time); });
}

}  // namespace qklab::lab
