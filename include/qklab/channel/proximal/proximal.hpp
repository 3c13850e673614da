#pragma once

#include <cstddef>
#include <memory>

#include "qklab/channel/labels/channel.hpp"

namespace qklab {

/// A table of doubles, one row a quantity, consecutive points side by side; rows are 64-byte aligned.
class PointRows {
 public:
  /// `rows` rows of `points` zeros; `points` is rounded up to a multiple of 16.
  PointRows(int rows, int points);

  double* row(int k) { return values_.get() + static_cast<std::size_t>(k) * stride_; }
  const double* row(int k) const { return values_.get() + static_cast<std::size_t>(k) * stride_; }
  int rows() const { return rows_; }
  int stride() const { return stride_; }

 private:
  struct AlignedDelete {
    void operator()(double* values) const;
  };
  int rows_;
  int stride_;
  std::unique_ptr<double[], AlignedDelete> values_;
};

/// The proximal map of the softmax channel and its derivatives, for a batch of points:
///   e* = argmin_e ||y - sigma(e)||_F^2 + |e - w|^2/(2V),   g = (e* - w)/V.
///
/// Coordinates are the pair_count() white scores e_ab = h_ab/sqrt(1 + delta_ab), packed like h. The direction
/// that the softmax cannot see needs no care: g is orthogonal to it. Fill the first `count` points of center,
/// label, preimage and attention, call solve, read the rest.
///
/// The loss is not convex, so e* is searched for by damped Newton steps from several starts (the minimiser of
/// the last solve, w, z, and mixtures of w and z token by token) and the lowest minimum is kept; the further
/// starts are skipped where the minimum found is proved to be the only one that low
/// (src/channel/proximal/uniqueness.hpp). At converged points g is right to about 1e-11 beta. Strong
/// non-convexity (T
/// >= 3, beta of 10, noisy labels) can hide a lower minimum from all starts; measured at T = 4, V = 3..30: 4
/// % of the points, by 0.03 in the objective.
class ProximalMap {
 public:
  /// Where the search begins: at w, or at what `minimiser` holds.
  enum class Start { center, minimiser };

  /// Throws InvalidParameter unless the channel is a valid softmax.
  ProximalMap(const Channel& channel, int capacity);
  ~ProximalMap();
  ProximalMap(ProximalMap&&) noexcept;
  ProximalMap& operator=(ProximalMap&&) noexcept;

  /// Solves points 0..count-1, count <= capacity. Domain: susceptibility V > 0 (1e-40 serves as the limit V
  /// -> 0).
  void solve(int count, double susceptibility, Start start);

  // Given.
  PointRows center;     ///< w, pair_count() rows
  PointRows label;      ///< y, T*T rows
  PointRows preimage;   ///< z, pair_count() rows
  PointRows attention;  ///< sigma(z), T*T rows; equals `label` without label noise

  // Found (minimiser is also read when the search starts there).
  PointRows minimiser;            ///< e*, pair_count() rows
  PointRows residual;             ///< g, pair_count() rows
  PointRows loss;                 ///< ||y - sigma(e*)||_F^2
  PointRows preimage_divergence;  ///< div_z g at fixed label noise, by implicit differentiation
  PointRows center_divergence;    ///< div_w g, by implicit differentiation
  PointRows jacobian_square;      ///< |dg/dw|_F^2
  PointRows converged;            ///< 1 where the tolerance was reached, else 0
  PointRows competing;            ///< 1 where distinct minima were found, else 0

 private:
  struct Search;

  void begin(int count, double susceptibility, Start start);
  /// Points whose minimum is not proved to be the global one; returns how many.
  int find_contested(int count, double susceptibility);
  /// Searches those points from the other starts.
  void explore(int count, double susceptibility, Start first);
  /// Takes the packed search's start as the first trial.
  void begin_packed(int count, double susceptibility);
  void keep_lower(int count, double susceptibility);

  Channel channel_;
  int capacity_;
  std::unique_ptr<Search> search_;
};

}  // namespace qklab
