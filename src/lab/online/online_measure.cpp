#include "online_measure.hpp"

#include <cmath>
#include <limits>

#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/online/escape.hpp"

namespace qklab::lab {
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
  const double norm = std::sqrt(point.self_overlap * teacher_self_overlap);
  point.alignment = norm > 0 ? point.overlap / norm : 0;
  point.centred_alignment = std::numeric_limits<double>::quiet_NaN();
  if (heads == 1 && teacher_heads == 1) {
    point.centred_alignment = centred_alignment(point.overlap, point.self_overlap, point.trace,
                                                teacher_self_overlap, teachers.front().trace() / d);
  }
  return point;
}

void measure_spectra(const Matrix& student, bool untied, OnlinePoint& point) {
  point.eigenvalues = symmetric_modes(symmetric_part(student)).values;
  if (untied) point.singular_values = singular_values(student);
}

}  // namespace qklab::lab
