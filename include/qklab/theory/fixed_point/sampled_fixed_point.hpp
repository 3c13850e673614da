#pragma once

#include <Eigen/Core>
#include <optional>

#include "qklab/core/sobol.hpp"
#include "qklab/theory/fixed_point/fixed_point.hpp"

namespace qklab::theory {

/// A map F that is a mean over a sample, drawn once and kept, so that F is deterministic. Where sampled
/// problems have competing minima F jumps by a sample's share, and may jump over its fixed point; another
/// sample has its jumps elsewhere (docs/theory section 3).
class SampledMap {
 public:
  virtual ~SampledMap() = default;

  /// F(x), or nothing where it is not defined.
  virtual std::optional<Eigen::VectorXd> on_fine(const Eigen::VectorXd& x) = 0;
  /// The same on a smaller sample: cheap first iterations and slopes.
  virtual std::optional<Eigen::VectorXd> on_coarse(const Eigen::VectorXd& x) = 0;
  /// The fixed point on the smaller sample; `converged` where it serves as a start on the large one.
  virtual FixedPoint approach(const Eigen::VectorXd& start) = 0;
  /// Share of the large sample whose problems have competing minima at x.
  virtual double competing(const Eigen::VectorXd& x) = 0;
  /// Draws the sample anew, a function of the seed and the number of the redraw.
  virtual void draw(int redraw) = 0;
};

/// How far a search on the large sample goes.
struct SampledSearch {
  double tolerance = 1e-7;    ///< on the residual of F
  int max_evaluations = 400;  ///< of F, in Broyden's steps
  int max_further = 400;      ///< of F, where those give up
  StopToken stop{};
};

/// Finds fixed points of one sampled map: on the small sample, then on the large one, and on further samples
/// where the sampled map jumps over its fixed point.
class SampledFixedPoint {
 public:
  /// Redraws of all searches together. A sample hides the fixed point as often as jumps have a share in the
  /// fall of F(x) - x, whatever its size: even at one half, nine samples in a row do so once in 512 times.
  static constexpr int most_redraws = 8;
  /// Residual of a map that has a fixed point nearby, although a jump may hide it.
  static constexpr double near = 1e-2;

  /// Keeps a reference to the map, whose sample is the first.
  SampledFixedPoint(SampledMap& map, SampledSearch search) : map_(map), search_(search) {}

  FixedPoint find(const Eigen::VectorXd& start);

  int evaluations() const { return evaluations_; }  ///< of F, on either sample
  int redraws() const { return redraws_; }

 private:
  FixedPoint find_on_sample(const Eigen::VectorXd& start);
  bool straddles_a_jump(const FixedPoint& point);

  SampledMap& map_;
  SampledSearch search_;
  int evaluations_ = 0;
  int redraws_ = 0;
};

/// The small sample that goes with a large one.
QmcOptions coarse_sampling(const QmcOptions& fine);

/// Independent points for each redraw; 0 leaves the options as they are.
QmcOptions redrawn(const QmcOptions& qmc, int redraw);

}  // namespace qklab::theory
