#pragma once

#include "qklab/channel/labels/channel.hpp"

namespace qklab {

/// Most points of one batch; a multiple of every vector length.
constexpr int kMaxBatch = 128;

/// One batch of proximal problems for the vector kernels; rows are `stride` values apart. The unknown is
/// g = (e - w)/V, so that the limit V -> 0 is nothing special. `count` is a multiple of 16.
struct NewtonRows {
  int stride;
  int count;
  const double* center;  ///< w, one row a pair
  const double* label;   ///< y, T*T rows
  double* residual;      ///< g, one row a pair: on entry the start
  double* step;          ///< one row a pair: the next trial is residual + step
  double* objective;     ///< ||y - sigma(w + V g)||^2 + V |g|^2/2
  double* slope;         ///< derivative of the objective along step
  double* done;          ///< 1 once a minimum is reached, else 0
};

/// What the response kernel adds once the minimisers are known.
struct ResponseRows {
  NewtonRows newton;
  const double* attention;  ///< sigma(z), T*T rows
  double* minimiser;        ///< e*, one row a pair
  double* loss;
  double* preimage_divergence;
  double* center_divergence;
  double* jacobian_square;
  double* converged;
};

/// Moves every point from its start to a local minimum of its objective.
void minimise(const Channel& channel, double susceptibility, const NewtonRows& rows);

/// One last Newton correction, then loss and derivatives at the minimisers.
void respond(const Channel& channel, double susceptibility, const ResponseRows& rows);

}  // namespace qklab
