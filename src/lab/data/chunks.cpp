#include "chunks.hpp"

#include <algorithm>

namespace qklab::lab {
namespace {

/// X, Z and M of a block stay in a megabyte; fewer than 128 rows starve the matrix products.
int fitting_block(int tokens, int dimension, double columns, int bytes_per_real) {
  constexpr double cache_bytes = 1 << 20;
  constexpr double fewest_rows = 128;
  constexpr double most_rows = 2048;
  const double row_bytes = (dimension + 2 * columns) * bytes_per_real;
  const double rows = std::clamp(cache_bytes / row_bytes, fewest_rows, most_rows);
  return std::max(1, static_cast<int>(rows / tokens));
}

long groups_of(long samples) {
  return (samples + samples_a_group - 1) / samples_a_group;
}

}  // namespace

Chunks chunks_of(long samples, int tokens, int dimension, double columns, int bytes_per_real) {
  const int block = fitting_block(tokens, dimension, columns, bytes_per_real);
  const long fitting = std::min<long>({most_chunks, groups_of(samples), (samples + block - 1) / block});
  return {samples, static_cast<int>(std::max(1L, fitting)), block};
}

long Chunks::begin(int chunk) const {
  return std::min(samples, samples_a_group * (groups_of(samples) * chunk / count));
}

double largest_share(int ranks) {
  const int most_of_a_rank = (most_chunks + ranks - 1) / ranks;
  return static_cast<double>(most_of_a_rank) / most_chunks;
}

int Chunks::first_of_rank(int rank, int size) const {
  return count * rank / size;
}

}  // namespace qklab::lab
