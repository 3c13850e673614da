#pragma once

#include <vector>

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/theory/generalization/decomposition.hpp"
#include "qklab/theory/generalization/teacher_modes.hpp"

namespace qklab::experiment {

/// A teacher mode as predicted, and its mean over trained runs.
struct ModeComparison {
  int rank = 1;  ///< 1 is the teacher's largest eigenvalue
  theory::TeacherMode predicted;
  Estimate location;   ///< learned/scale + threshold: the level of X that the trained eigenvalue stands for
  Estimate alignment;  ///< squared overlap of the eigenvectors of that rank
  Estimate learned;    ///< the trained eigenvalue of that rank
};

/// The isolated modes of a teacher given mode by mode, at most `most`, largest first, with what the runs of
/// the point measured (NaN without runs). Empty for other teachers.
std::vector<ModeComparison> compare_modes(const Comparison& point, int most);

/// Points of a predicted level profile, and bins of a measured one, as they are shown.
inline constexpr int profile_points = 60;
inline constexpr int profile_bins = 12;

/// Mean teacher level v^T S0 v seen by the trained eigenvectors whose eigenvalues fall into one bin.
struct MeasuredLevel {
  double student = 0;  ///< mean eigenvalue of S in the bin
  Estimate teacher;
};

/// The trained level profile over the non-zero eigenvalues of all runs, in `bins` bins of equally many; its
/// errors are those over the eigenvalues of a bin. Empty without runs.
std::vector<MeasuredLevel> measured_profile(const Comparison& point, int bins);

/// The parts of one trained run, split like the prediction: as many recovered modes, the same scale and
/// slopes.
struct MeasuredParts {
  theory::ErrorParts parts;
  double mismatch = 0;
  double remainder = 0;
};

MeasuredParts measured_parts(const lab::TrainedRun& run, const theory::Decomposition& predicted);

/// overfitting, underfitting, approximation, cross, mismatch, remainder, test_error, each as predicted and
/// over the trained runs of the point.
std::vector<Deviation> part_deviations(const Comparison& point, const theory::Decomposition& predicted);

}  // namespace qklab::experiment
