#pragma once

#include <span>
#include <vector>

namespace qklab::lab {

/// When a threshold was passed first. Infinite where it was not.
struct Escape {
  double threshold = 0;
  double time = 0;     ///< tau
  double samples = 0;  ///< n = B tau d/eta
};

/// Sees a student at growing times and notes when it passes each threshold first, by linear interpolation
/// between two times.
///
/// Passed is threshold theta where |m - t1 t0| > theta sqrt((Q0 - t0^2) max(q - t1^2, its value at the
/// start)) (docs/theory (10.10)): two-sided, and a student that merely shrinks has not escaped.
class EscapeWatch {
 public:
  /// Q0 = Tr(S0^2)/d, t0 = Tr S0/d.
  EscapeWatch(std::span<const double> thresholds, double teacher_self_overlap, double teacher_trace);

  /// tau, m = Tr(S S0)/d, q = Tr(S S^T)/d, t1 = Tr S/d.
  void see(double time, double overlap, double self_overlap, double trace);
  bool all_passed() const;
  /// `samples` is left 0 where passed.
  const std::vector<Escape>& escapes() const { return escapes_; }

 private:
  std::vector<Escape> escapes_;
  double teacher_variance_;  ///< Q0 - t0^2
  double teacher_trace_;
  double start_variance_ = -1;  ///< q - t1^2 at the first time
  double last_time_ = 0;
  double last_fraction_ = 0;
};

/// (m - t1 t0)/sqrt((q - t1^2)(Q0 - t0^2)); 0 where the denominator vanishes.
double centred_alignment(double overlap, double self_overlap, double trace, double teacher_self_overlap,
                         double teacher_trace);

}  // namespace qklab::lab
