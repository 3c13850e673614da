#pragma once

#include <cstdint>

#include "gaussian_points.hpp"
#include "qklab/channel/expectation/untied_output.hpp"
#include "sampled_softmax.hpp"

namespace qklab {

/// Expectations of the softmax channel over the scores of ordered pairs, for one scrambling.
class SampledUntiedSoftmax {
 public:
  SampledUntiedSoftmax(const Channel& channel, double noise_out, int point_count, std::uint64_t seed,
                       std::uint64_t scrambling);

  /// Dimensions of the Sobol net that one scrambling takes.
  static int dimension(const Channel& channel, bool with_label_noise);

  /// `antisymmetric` is the standard deviation of the antisymmetric coordinates. Remembers the minimisers as
  /// starts of the next call.
  UntiedOutputExpectations evaluate(const ScoreMix& mix, double antisymmetric,
                                    const UntiedSusceptibilities& susceptibilities);

  /// E ||sigma(z) - sigma(w, u)||_F^2.
  double test_error(const ScoreMix& mix, double antisymmetric) const;

 private:
  Channel channel_;
  double noise_out_;
  GaussianPoints points_;
  PointRows third_;                 ///< standard normals of the antisymmetric coordinates
  std::vector<double> minimisers_;  ///< T*T coordinates of every point, point by point
  bool has_minimisers_ = false;
};

}  // namespace qklab
