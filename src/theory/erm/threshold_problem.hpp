#pragma once

#include <optional>

#include "qklab/core/problem.hpp"
#include "qklab/theory/erm/denoiser.hpp"

namespace qklab::theory {

/// The student that the matrix side answers with where mhat = Vhat, so that c = 1.
struct NoiseStudent {
  double overlap = 0;        ///< m
  double orthogonal = 0;     ///< q - m^2/Q0
  double squared_error = 0;  ///< Q0 - 2 m + q
  double response = 0;       ///< R = D/delta
  double rank = 0;           ///< share of eigenvalues that the threshold leaves
};

/// A problem at vanishing weight decay, where alpha and lambda are unknowns or play no part.
struct ThresholdProblem {
  Activation activation;
  Parametrization parametrization;
  int tokens;
  double noise;      ///< of white coordinates, noise_in + noise_out/2; > 0 where any noise is
  double noise_out;  ///< as given
  double kappa;      ///< 1 where the width does not limit
  double visible;    ///< r
  double teacher_rank;
  double teacher_self_overlap;
  bool is_wishart;
  Problem problem;                   ///< without the limit of width
  std::optional<Denoiser> denoiser;  ///< its matrix side; nothing where that is known by samples only

  /// The answer of the matrix side to noise delta at threshold level = b/delta.
  NoiseStudent student(double delta, double level) const;

  /// The delta at which a threshold of 0 interpolates: (6.6). Domain: tied, noise > 0.
  double interpolation_noise() const;
};

ThresholdProblem threshold_problem(const Problem& problem);

}  // namespace qklab::theory
