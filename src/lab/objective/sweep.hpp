#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lab/data/chunks.hpp"
#include "lab/student/student.hpp"
#include "qklab/lab/data/dataset.hpp"

namespace qklab::lab {

/// A block of samples between its scores and its slopes. Rows hold `count` values, one a sample.
struct ScoreBlock {
  int chunk;   ///< of the data that the block belongs to; blocks of one chunk come in order, on one thread
  int thread;  ///< 0 .. omp_get_max_threads() - 1
  long first;  ///< sample, of those of this rank
  int count;
  const double* scores;       ///< of the student's layout
  const double* correlation;  ///< R, T x T rows
  const double* gram;         ///< C, a <= b row by row; null stands for the identity
  double* slopes;             ///< G, laid out like the scores: to be written
};

/// Says what slopes the scores of a block get; called by several threads at once.
using SlopeRule = std::function<void(const ScoreBlock&)>;

/// A pass over the data: from the parameters P of a student to the scores of every sample, from their slopes
/// G back to X^T M, M mixed from G and rows of the tokens (src/lab/student/student.hpp).
///
/// Two matrix products over blocks of samples that stay in cache. Chunks are fixed by the data, reduced in
/// order, and worked on with one BLAS thread each: what comes out is bitwise the same for any number of
/// OpenMP threads, and of ranks that have the chunks between them. The data set must outlive the sweep.
template <class Real>
class Sweep {
 public:
  /// `block_samples` is the number of samples a block holds; 0 fits the block to the cache.
  /// `ranks` are those that the data set was drawn for.
  Sweep(const Dataset<Real>& data, std::shared_ptr<const Student<Real>> student, int block_samples = 0,
        Ranks ranks = {});

  /// Writes X^T M, d x columns; returns the sum over samples and tokens of G_aa.
  double operator()(std::span<const double> parameters, const SlopeRule& rule, std::span<double> product);

  /// The number of parameters.
  long size() const { return static_cast<long>(matrix_.size()); }
  /// Of all ranks.
  int chunks() const { return chunks_.count; }
  /// What each chunk has, summed over the chunks of all ranks in order; `values` has 0 for those of others.
  double total(std::vector<double> values) const;
  const Dataset<Real>& data() const { return data_; }
  const Student<Real>& student() const { return *student_; }

 private:
  struct Workspace;
  double sweep_chunk(int chunk, double trace, const SlopeRule& rule, Workspace& workspace);
  int fitting_threads() const;
  void add_chunks(int threads, long first, std::span<double> part) const;

  const Dataset<Real>& data_;
  std::shared_ptr<const Student<Real>> student_;
  Ranks ranks_;
  Chunks chunks_;
  int first_chunk_;  ///< of this rank
  int end_chunk_;
  std::vector<Real> matrix_;  ///< P
  std::vector<Real> chunk_products_;
};

/// Bytes that a sweep holds beside its data on one of `ranks` ranks, with `columns` columns and `threads`
/// OpenMP threads.
double sweep_bytes(const Problem& problem, double columns, int bytes_per_real, int threads, int ranks = 1);

}  // namespace qklab::lab
