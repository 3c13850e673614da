#pragma once

namespace qklab::lab {

/// Samples that are drawn together; chunks hold whole groups, so that no number depends on who draws it.
inline constexpr int samples_a_group = 64;

/// How the n samples of a data set are cut for a pass over them: sums are taken over each chunk, and then
/// over the chunks in order. A function of the data and the student alone, not of threads or ranks.
struct Chunks {
  long samples = 0;  ///< n
  int count = 1;
  int block = 1;  ///< samples that fit the cache together with their products

  /// First sample of a chunk; n for chunk = count.
  long begin(int chunk) const;
  /// First chunk of a rank; `count` for rank = size.
  int first_of_rank(int rank, int size) const;
};

/// For a student whose matrix P has `columns` columns.
Chunks chunks_of(long samples, int tokens, int dimension, double columns, int bytes_per_real);

/// More chunks would cost memory (one product each), fewer would leave cores idle.
inline constexpr int most_chunks = 64;

/// The largest part of most_chunks chunks that one of `ranks` ranks has.
double largest_share(int ranks);

}  // namespace qklab::lab
