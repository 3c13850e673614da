#pragma once

#include "qklab/channel/attention_indexed/attention_indexed.hpp"

namespace qklab {

/// A batch for the kernels of attention-indexed models: rows of samples, `stride` values apart.
template <class Real>
struct IndexedRows {
  int stride;
  const Real* student;
  const Real* teacher;
  const Real* label_noise;  ///< may be null
  Real* loss;
  Real* gradient;
};

/// A batch for the kernel of second derivatives.
struct CurvatureRows {
  int stride;
  const double* student;
  const double* teacher;
  const double* label_noise;  ///< may be null
  const double* weights;
  const double* directions;  ///< (all stored scores, student's first) x direction_count, row by row
  int direction_count;       ///< a multiple of kJetSlopes
  double* sum;               ///< score_count() x direction_count, row by row; added to
};

/// Directions differentiated along at once.
inline constexpr int kJetSlopes = 4;

}  // namespace qklab
