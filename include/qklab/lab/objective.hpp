#pragma once

#include <span>
#include <vector>

#include "qklab/channel/channel.hpp"
#include "qklab/lab/dataset.hpp"

namespace qklab::lab {

/// L(W) = (1/d^2) sum_mu ||y - sigma(h(W W^T))||^2 + (lambda/d) ||W||_F^2, W d x p (row-major), and its exact
/// gradient.
///
/// With Z = X W: h_ab = (z_a . z_b - delta_ab ||W||_F^2)/sqrt d, and for G_ab = d loss/d h_ab (a <= b)
///   grad L = [X^T M - 2 (sum_mu sum_a G_aa) W]/(d^2 sqrt d) + (2 lambda/d) W,   M_a = sum_b (1 + delta_ab)
///   G_ab z_b,
/// two matrix products over blocks of samples that stay in cache: 4 n T d p flops. Real is the type of the
/// products; scores, loss and the sum over chunks of the data are double.
///
/// Chunks are fixed by the data, reduced in order, and worked on with one BLAS thread each: the result is
/// bitwise the same for any number of OpenMP threads. The data set must outlive the objective.
template <class Real>
class Objective {
 public:
  /// `block_samples` is the number of samples a block holds; 0 fits the block to the cache.
  Objective(const Dataset<Real>& data, const Channel& channel, int width, double lambda,
            int block_samples = 0);

  /// d p, the number of parameters.
  long size() const;

  /// L(W); writes grad L(W) (both of size()).
  double operator()(std::span<const double> weights, std::span<double> gradient);

  /// The data term of the last L(W).
  double loss() const { return loss_; }
  /// The penalty (lambda/d) ||W||_F^2 of the last L(W).
  double regularization() const { return regularization_; }

 private:
  struct Workspace;
  struct ChunkSums;
  void sweep_chunk(int chunk, double trace, Workspace& workspace, ChunkSums& sums);
  int fitting_threads() const;
  void reduce_gradient(int threads, std::span<const double> weights, double trace_gradient,
                       std::span<double> gradient) const;

  const Dataset<Real>& data_;
  Channel channel_;
  int width_;
  double lambda_;
  int block_;
  int chunks_;
  std::vector<Real> weights_;
  std::vector<Real> chunk_gradients_;
  double loss_ = 0;
  double regularization_ = 0;
};

/// Bytes that an objective holds beside its data, for `threads` OpenMP threads.
double objective_bytes(const Problem& problem, int bytes_per_real, int threads);

}  // namespace qklab::lab
