#pragma once

#include <span>
#include <vector>

#include "qklab/lab/online_sgd.hpp"

namespace qklab::lab {

/// Everything of a point that follows from the students S_k and the teachers; not time, loss or factor_norm.
OnlinePoint measure_overlaps(const std::vector<Matrix>& students, const std::vector<Matrix>& teachers);

/// The spectra of S_1.
void measure_spectra(const Matrix& student, bool untied, OnlinePoint& point);

/// Sees a student at growing times and notes when each threshold is passed first, by linear interpolation
/// between two times.
class EscapeWatch {
 public:
  EscapeWatch(std::span<const double> thresholds, double teacher_self_overlap, double teacher_trace);

  void see(const OnlinePoint& point);
  bool all_passed() const;
  const std::vector<Escape>& escapes() const { return escapes_; }

 private:
  std::vector<Escape> escapes_;
  double teacher_variance_;  ///< Q0 - t0^2
  double teacher_trace_;
  double start_variance_ = -1;  ///< q - t1^2 at the first time
  double last_time_ = 0;
  double last_fraction_ = 0;
};

}  // namespace qklab::lab
