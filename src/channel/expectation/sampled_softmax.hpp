#pragma once

#include "gaussian_points.hpp"
#include "qklab/channel/expectation/output_expectation.hpp"
#include "qklab/channel/proximal/proximal.hpp"

namespace qklab {

/// Scores of teacher and student as mixes of independent standard normals:
/// z = teacher * first, w = shared * first + own * second.
struct ScoreMix {
  double teacher;
  double shared;
  double own;
};

/// The mix that has these overlaps when noise of variance noise_in is added to the teacher's scores.
ScoreMix score_mix(const ScoreOverlaps& overlaps, double noise_in);

/// Expectations of the softmax channel over one scrambling.
class SampledSoftmax {
 public:
  SampledSoftmax(const Channel& channel, double noise_out, GaussianPoints points);

  /// Remembers the minimisers as starts of the next call. Where own = 0 Stein's estimates do not exist and
  /// the implicit ones stand in for them.
  OutputExpectations evaluate(const ScoreMix& mix, double susceptibility);

  /// E ||sigma(z) - sigma(w)||_F^2.
  double test_error(const ScoreMix& mix) const;

 private:
  void fill(const ScoreMix& mix, int first, int count, ProximalMap& map, PointRows& scores) const;

  Channel channel_;
  double noise_out_;
  GaussianPoints points_;
  PointRows minimisers_;
  bool has_minimisers_ = false;
};

}  // namespace qklab
