#include "qklab/dynamics/tied/tied_noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "characteristics.hpp"
#include "dynamics/trajectory/integrate.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied/tied_truncated.hpp"

namespace qklab::dynamics {
namespace {

constexpr int first_intervals = 32;
constexpr int nodes = 24;

struct GridPath {
  std::vector<NoisyOverlaps> overlaps;
  double step = 0;
  Outcome outcome = Outcome::converged;
};

void require_arguments(double nu, const NoisyFlowOptions& options);
NoisyOverlaps interpolated(const GridPath& path, double time);
double largest_difference(const GridPath& coarse, const GridPath& fine);
bool diverge_alike(const GridPath& coarse, const GridPath& fine);

}  // namespace

Trajectory tied_flow_with_noise(const SymmetricLoss& loss, const DiscreteLaw& teacher, const TiedStart& start,
                                double nu, const std::vector<double>& times,
                                const NoisyFlowOptions& options) {
  require_times(times);
  require_arguments(nu, options);
  checked(start);
  const DiscreteLaw law = truncated_law(teacher, nodes);
  const double end = times.empty() ? 0 : times.back();
  int used = 0;
  const auto solve = [&](int intervals) {
    GridPath path{{}, end / intervals, Outcome::converged};
    Characteristics student(loss, law, start, nu, options.weight_decay, path.step, intervals);
    for (int j = 0; j < intervals && path.outcome == Outcome::converged; ++j) {
      if (options.stop.requested()) {
        path.outcome = Outcome::interrupted;
      } else if (!student.advance()) {
        path.outcome = Outcome::diverged;
      }
    }
    path.overlaps = student.overlaps();
    used = intervals;
    return path;
  };

  int intervals = std::min(first_intervals, options.max_intervals / 2);
  GridPath path = solve(intervals);
  Outcome outcome = Outcome::stagnated;
  while (outcome == Outcome::stagnated && 2 * intervals <= options.max_intervals &&
         path.outcome != Outcome::interrupted) {
    intervals *= 2;
    const GridPath finer = solve(intervals);
    // What is left of the error falls 8 to 16 times from one grid to the next.
    constexpr double gain = 8;
    const bool agree = path.outcome == Outcome::converged && finer.outcome == Outcome::converged &&
                       largest_difference(path, finer) <= gain * options.tolerance;
    const bool both_diverge = path.outcome == Outcome::diverged && diverge_alike(path, finer);
    path = finer;
    if (agree) outcome = Outcome::converged;
    if (both_diverge) outcome = Outcome::diverged;
  }
  if (path.outcome != Outcome::converged) outcome = path.outcome;

  Trajectory trajectory;
  trajectory.outcome = outcome;
  trajectory.steps = used;
  const double reached = path.step * static_cast<double>(path.overlaps.size() - 1);
  for (const double time : times) {
    if (time > reached * (1 + 1e-12)) break;
    const NoisyOverlaps at = interpolated(path, time);
    trajectory.points.push_back(trajectory_point(loss, time, at.overlap, at.self_overlap, at.trace));
  }
  return trajectory;
}

namespace {

/// By the cubic through the four nearest grid times.
NoisyOverlaps interpolated(const GridPath& path, double time) {
  const int last = static_cast<int>(path.overlaps.size()) - 1;
  if (path.step == 0 || last < 3) return path.overlaps[time > 0 ? last : 0];
  const double x = time / path.step;
  const int first = std::clamp(static_cast<int>(x) - 1, 0, last - 3);
  NoisyOverlaps sum;
  for (int i = 0; i < 4; ++i) {
    double weight = 1;
    for (int k = 0; k < 4; ++k) {
      if (k != i) weight *= (x - first - k) / (i - k);
    }
    const NoisyOverlaps& at = path.overlaps[first + i];
    sum.overlap += weight * at.overlap;
    sum.self_overlap += weight * at.self_overlap;
    sum.trace += weight * at.trace;
  }
  return sum;
}

double largest_difference(const GridPath& coarse, const GridPath& fine) {
  double worst = 0;
  for (std::size_t j = 0; j < coarse.overlaps.size(); ++j) {
    const NoisyOverlaps& x = coarse.overlaps[j];
    const NoisyOverlaps& y = fine.overlaps[2 * j];
    worst = std::max({worst, std::abs(x.overlap - y.overlap), std::abs(x.self_overlap - y.self_overlap),
                      std::abs(x.trace - y.trace)});
  }
  return worst;
}

/// At one time, and not because the grid is too coarse to begin with.
bool diverge_alike(const GridPath& coarse, const GridPath& fine) {
  constexpr std::size_t few = 8;
  const double gap = coarse.step * static_cast<double>(coarse.overlaps.size()) -
                     fine.step * static_cast<double>(fine.overlaps.size());
  return fine.outcome == Outcome::diverged && coarse.overlaps.size() > few &&
         std::abs(gap) <= 2 * coarse.step;
}

void require_arguments(double nu, const NoisyFlowOptions& options) {
  if (!(nu >= 0 && std::isfinite(nu))) {
    throw InvalidParameter("nu", nu, "step size * d/batch must be >= 0 and finite");
  }
  if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay))) {
    throw InvalidParameter("weight decay", options.weight_decay, "must be >= 0 and finite");
  }
  if (!(options.tolerance > 0)) throw InvalidParameter("tolerance", options.tolerance, "must be > 0");
  if (options.max_intervals < 16) {
    throw InvalidParameter("max_intervals", std::to_string(options.max_intervals), "must be >= 16");
  }
}

}  // namespace
}  // namespace qklab::dynamics
