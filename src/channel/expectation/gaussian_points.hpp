#pragma once

#include <cstdint>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/channel/proximal/proximal.hpp"

namespace qklab {

/// Standard normals behind one scrambling of the softmax channel, in pair_count() white coordinates without a
/// part along the invisible direction: teacher scores are sqrt(Q) `first`, student scores a mix of `first`
/// and `second`.
struct GaussianPoints {
  /// `with_label_noise` adds the normals of the label noise; its part along 1 in each row moves no minimiser
  /// and is left out.
  GaussianPoints(const Channel& channel, bool with_label_noise, int point_count, std::uint64_t seed,
                 std::uint64_t scrambling);

  /// Dimensions of the Sobol net that these points take.
  static int dimension(const Channel& channel, bool with_label_noise);

  int count;
  PointRows first;
  PointRows second;
  PointRows label_noise;  ///< T*T rows of unit variance per visible direction, or none
};

}  // namespace qklab
