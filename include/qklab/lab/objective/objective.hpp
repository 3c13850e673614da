#pragma once

#include <memory>
#include <span>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/lab/data/dataset.hpp"

namespace qklab::lab {

template <class Real>
class Sweep;

/// L(P) = (1/d^2) sum_mu ||y - sigma(h(S))||^2 + penalty, P the d x columns parameters (row-major,
/// qklab/lab/student/parameters.hpp) of a student S, and its exact gradient. Penalties: (lambda/d) ||W||_F^2
/// (tied), (lambda/d) ||S||_F^2 (direct), (lambda/(2 d)) (||U||_F^2 + ||V||_F^2) (untied).
///
/// With Z = X P, scores h come from products of rows of X and Z, and with G = d loss/d h the gradient is
/// X^T M/(d^2 sqrt d) and a part that does not pass through the tokens; M mixes rows of Z or X by G
/// (src/lab/student/student.cpp). Two matrix products over blocks of samples that stay in cache: 4 n T d
/// columns flops. Real is the type of the products; scores, loss and the sum over chunks of the data are
/// double.
///
/// Chunks are fixed by the data, reduced in order, and worked on with one BLAS thread each: the result is
/// bitwise the same for any number of OpenMP threads, and of ranks that the data set was drawn for. The data
/// set must outlive the objective.
template <class Real>
class Objective {
 public:
  /// `block_samples` is the number of samples a block holds; 0 fits the block to the cache. Throws
  /// InvalidParameter for an activation that is not trained.
  Objective(const Dataset<Real>& data, const Problem& problem, int block_samples = 0,
            const Ranks& ranks = {});

  /// The number of parameters.
  long size() const;

  /// L(P); writes grad L(P) (both of size()).
  double operator()(std::span<const double> parameters, std::span<double> gradient);

  /// The data term of the last L(P).
  double loss() const { return loss_; }
  /// The penalty of the last L(P).
  double regularization() const { return regularization_; }

 private:
  Channel channel_;
  std::shared_ptr<Sweep<Real>> sweep_;
  double loss_ = 0;
  double regularization_ = 0;
};

/// Bytes that an objective holds beside its data on one of `ranks` ranks, for `threads` OpenMP threads.
double objective_bytes(const Problem& problem, int bytes_per_real, int threads, int ranks = 1);

}  // namespace qklab::lab
