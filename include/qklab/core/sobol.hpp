#pragma once

#include <cstdint>
#include <vector>

namespace qklab {

/// How Gaussian expectations are sampled: `scramblings` independent randomisations of a Sobol net, whose
/// spread gives the standard error; together they hold 2^log2_points points.
struct QmcOptions {
  int log2_points = 15;    ///< log2 of the total number of points, 6..24
  int scramblings = 8;     ///< independent scramblings, a power of two >= 2
  std::uint64_t seed = 1;  ///< every scrambling is a function of (seed, number of the scrambling)
};

/// Throws InvalidParameter when an option is out of range.
QmcOptions checked(QmcOptions options);

/// Points in (0, 1)^dimension of one Owen-scrambled Sobol net, coordinate by coordinate:
/// value [k * count + i] is coordinate k of point i. `count` must be a power of two.
/// Scrambling: hash-based nested uniform scrambling (Laine-Karras permutation of the bit-reversed digits).
std::vector<double> scrambled_sobol(int dimension, int count, std::uint64_t seed, std::uint64_t scrambling);

/// The same points mapped to iid standard normals by the inverse distribution function.
std::vector<double> scrambled_sobol_normals(int dimension, int count, std::uint64_t seed,
                                            std::uint64_t scrambling);

}  // namespace qklab
