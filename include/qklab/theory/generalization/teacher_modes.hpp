#pragma once

#include <vector>

#include "qklab/theory/fixed_point/student_spectrum.hpp"

namespace qklab::theory {

/// One eigenvalue of the teacher as it shows in the student.
struct TeacherMode {
  double teacher = 0;      ///< s, the eigenvalue of S0
  int multiplicity = 1;    ///< number of eigenvectors of S0 that share it; alignment is with their span
  bool isolated = false;   ///< its level in X = S0 + delta Z stands outside the bulk, as an outlier
  double location = 0;     ///< of that level in X; NaN when not isolated
  double alignment = 0;    ///< squared overlap of the eigenvectors of S0 and X; 0 when not isolated
  double learned = 0;      ///< eigenvalue of S there; 0 when not recovered
  bool recovered = false;  ///< isolated, and above the threshold and the width's cut
};

/// The non-zero eigenvalues of a teacher given mode by mode at dimension d, largest first, each as it shows
/// in the student. Empty for teachers with a continuous law: see level_profile.
///
/// With G and -G' the Stieltjes transform and its slope of all other modes: location s + delta^2 G(s),
/// squared alignment 1 + delta^2 G'(s), isolated where that is > 0. For modes few and far apart this is
/// s + delta^2/s and 1 - delta^2/s^2. Holds up to fluctuations of delta/sqrt(d) of each level. Source:
/// docs/theory section 7.2.
std::vector<TeacherMode> teacher_modes(const StudentSpectrum& spectrum, int dimension);

/// What one eigenvector of the student knows of the teacher.
struct Level {
  double student = 0;  ///< eigenvalue of S
  double teacher = 0;  ///< v^T S0 v for its eigenvector v: x - 2 delta^2 H(x) at the level x of X
};

/// The mean teacher level seen by each level of the student, on about `points` points of its bulk, ascending.
std::vector<Level> level_profile(const StudentSpectrum& spectrum, int points);

/// Squared overlap, per unit mass of the teacher's law and times d, of an eigenvector of X at level x with
/// teacher eigenvectors of eigenvalue s: delta^2/((x - s - delta^2 H)^2 + (pi delta^2 p)^2). Its mean over
/// the teacher's law is 1 where the density p of X is > 0.
double alignment_density(const StudentSpectrum& spectrum, double x, double s);

}  // namespace qklab::theory
