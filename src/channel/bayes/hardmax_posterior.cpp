#include "hardmax_posterior.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "normal_tail.hpp"

// Lengths are in units of sqrt(V) here. Given the scores between different tokens, each score h_aa of a token
// with itself sees one bound: it lies above the largest other score of its row, or below it. For three tokens
// and an order c1 > c2 > c3 of the other scores, the two rows that share c1 are bounded by c1, the third row
// by c2, and c3 by c2: what is left is a double integral that is a single one over c1 with a running integral
// over c2. All integrands are logarithmically concave with a curvature between -1 and -4.5, so that steps and
// ranges can be fixed beforehand.

namespace qklab {
namespace {

/// Phi(x), x = sign (center - scale c): the mass of a standard normal about `center` on one side of scale c.
struct BoundedScore {
  double sign;  ///< 1: above the bound, -1: below
  double center;
  double scale;
};

/// exp(-(c - center)^2/2) Phi(x1) Phi(x2) in c: one score and the two that it bounds.
struct BoundingScore {
  double center;
  std::array<BoundedScore, 2> bounded;
};

/// The integrand at c, and the posterior of its three scores given c: their mean shifts from the prior's
/// centers and the sum of their squared shifts.
struct Conditional {
  double log_density;
  std::array<double, 3> shift;
  double square;
};

/// A sum of N numbers with weights exp(log_weight) of any size.
template <int N>
class ScaledSum {
 public:
  void add(double log_weight, double weight, const std::array<double, N>& values);
  double log_scale() const { return log_scale_; }
  const std::array<double, N>& values() const { return values_; }

 private:
  double log_scale_ = -std::numeric_limits<double>::infinity();
  std::array<double, N> values_{};
};

/// {1, shifts, square} over an ordered set of three or six scores.
using Triple = ScaledSum<5>;
using Sextuple = ScaledSum<8>;

Conditional condition(const BoundingScore& score, double c);
double mode(const BoundingScore& score, const BoundingScore* other, double c);
Triple integrate(const BoundingScore& score);
Sextuple integrate(const BoundingScore& largest, const BoundingScore& second);

int pair_of(int tokens, int a, int b) {
  const int low = std::min(a, b);
  return low * tokens - low * (low - 1) / 2 + std::max(a, b) - low;
}

/// Scores of the posterior by their pair: {1, shifts, square}.
using PosteriorSum = ScaledSum<8>;
void add_order(int a, int b, int c, const int* largest, const std::array<double, 6>& center,
               PosteriorSum& sum);
void add_two_tokens(const int* largest, const std::array<double, 6>& center, PosteriorSum& sum);

}  // namespace

Evidence hardmax_posterior(int tokens, const int* largest, const double* center, double variance,
                           double* residual) {
  const int pairs = tokens * (tokens + 1) / 2;
  const double unit = std::sqrt(variance);
  std::array<double, 6> scaled{};
  bool is_finite = std::isfinite(unit);
  for (int k = 0; k < pairs; ++k) {
    scaled[k] = center[k] / unit;
    is_finite = is_finite && std::isfinite(scaled[k]);
  }
  if (!is_finite) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(residual, pairs, nan);
    return {nan, nan};
  }
  PosteriorSum sum;
  if (tokens == 2) {
    add_two_tokens(largest, scaled, sum);
  } else {
    // Rows a and b share the largest score h_ab, and h_cb is the second.
    for (int c = 0; c < 3; ++c) {
      add_order((c + 1) % 3, (c + 2) % 3, c, largest, scaled, sum);
      add_order((c + 2) % 3, (c + 1) % 3, c, largest, scaled, sum);
    }
  }
  const double mass = sum.values()[0];
  if (!(mass > 0)) {
    std::fill_n(residual, pairs, 0.0);
    return {-std::numeric_limits<double>::infinity(), 0};
  }
  double mean_square = 0;
  for (int k = 0; k < pairs; ++k) {
    const double shift = sum.values()[1 + k] / mass;
    residual[k] = shift / unit;
    mean_square += shift * shift;
  }
  return {sum.log_scale() + std::log(mass), (sum.values()[7] / mass - pairs - mean_square) / variance};
}

namespace {

/// Half the range of an integral about its mode, and the step of its rule.
constexpr double reach = 8;
constexpr double step = 0.4;
constexpr int nodes = static_cast<int>(2 * reach / step);
constexpr double log_of_normalisation = 0.91893853320467274178;  // log(2 pi)/2

template <int N>
void ScaledSum<N>::add(double log_weight, double weight, const std::array<double, N>& values) {
  constexpr double headroom = 200;  // of exp
  if (log_weight == -std::numeric_limits<double>::infinity()) return;
  if (log_weight > log_scale_ + headroom || log_scale_ == -std::numeric_limits<double>::infinity()) {
    const double shrink = std::exp(log_scale_ - log_weight);
    for (double& value : values_) value *= shrink;
    log_scale_ = log_weight;
  }
  const double factor = weight * std::exp(log_weight - log_scale_);
  for (int k = 0; k < N; ++k) values_[k] += factor * values[k];
}

BoundedScore diagonal(int row, int largest, double center) {
  return {largest == row ? 1.0 : -1.0, center, 1 / std::numbers::sqrt2};
}

void add_two_tokens(const int* largest, const std::array<double, 6>& center, PosteriorSum& sum) {
  const Triple triple =
      integrate({center[1], {diagonal(0, largest[0], center[0]), diagonal(1, largest[1], center[2])}});
  const auto& [mass, off, first, second, square] = triple.values();
  sum.add(triple.log_scale(), 1, {mass, first, off, second, 0, 0, 0, square});
}

/// h_ab > h_cb > h_ca, if the label allows it.
void add_order(int a, int b, int c, const int* largest, const std::array<double, 6>& center,
               PosteriorSum& sum) {
  const bool is_allowed = (largest[a] == a || largest[a] == b) && (largest[b] == b || largest[b] == a) &&
                          (largest[c] == c || largest[c] == b);
  if (!is_allowed) return;
  const auto own = [&](int row) { return diagonal(row, largest[row], center[pair_of(3, row, row)]); };
  const BoundingScore first{center[pair_of(3, a, b)], {own(a), own(b)}};
  const BoundingScore second{center[pair_of(3, c, b)], {own(c), {-1.0, center[pair_of(3, c, a)], 1.0}}};
  const Sextuple sextuple = integrate(first, second);
  const auto& values = sextuple.values();
  std::array<double, 8> by_pair{};
  by_pair[0] = values[0];
  by_pair[1 + pair_of(3, a, b)] = values[1];
  by_pair[1 + pair_of(3, a, a)] = values[2];
  by_pair[1 + pair_of(3, b, b)] = values[3];
  by_pair[1 + pair_of(3, c, b)] = values[4];
  by_pair[1 + pair_of(3, c, c)] = values[5];
  by_pair[1 + pair_of(3, c, a)] = values[6];
  by_pair[7] = values[7];
  sum.add(sextuple.log_scale(), 1, by_pair);
}

/// The trapezoidal rule over the whole line.
Triple integrate(const BoundingScore& score) {
  Triple sum;
  const double top = mode(score, nullptr, score.center);
  for (int k = 0; k <= nodes; ++k) {
    const Conditional at = condition(score, top - reach + k * step);
    sum.add(at.log_density, step, {1, at.shift[0], at.shift[1], at.shift[2], at.square});
  }
  return sum;
}

void add_cell(const BoundingScore& score, double lo, Triple& sum) {
  constexpr std::array<double, 4> places{-0.86113631159405258, -0.33998104358485626, 0.33998104358485626,
                                         0.86113631159405258};
  constexpr std::array<double, 4> weights{0.34785484513745386, 0.65214515486254614, 0.65214515486254614,
                                          0.34785484513745386};
  for (int k = 0; k < 4; ++k) {
    const Conditional at = condition(score, lo + step / 2 * (1 + places[k]));
    sum.add(at.log_density, step / 2 * weights[k], {1, at.shift[0], at.shift[1], at.shift[2], at.square});
  }
}

/// The trapezoidal rule for the largest score over a running Gauss-Legendre rule for the second.
Sextuple integrate(const BoundingScore& largest, const BoundingScore& second) {
  double top = mode(largest, nullptr, largest.center);
  const double second_top = mode(second, nullptr, second.center);
  if (second_top > top) top = mode(largest, &second, 0.5 * (top + second_top));
  const double lowest = top - reach;
  Triple running;
  const bool is_far_above = second_top + reach < lowest;
  const double begin = is_far_above ? second_top - reach : std::min(lowest - 2.4, second_top - reach);
  const double end = is_far_above ? second_top + reach : lowest;
  const int cells = static_cast<int>(std::ceil((end - begin) / step));
  for (int k = cells; k >= 1; --k) add_cell(second, end - k * step, running);
  Sextuple sum;
  for (int k = 0; k <= nodes; ++k) {
    const double c = lowest + k * step;
    const Conditional at = condition(largest, c);
    const auto& [mass, shift, third, fourth, square] = running.values();
    if (mass > 0) {
      sum.add(at.log_density + running.log_scale() + std::log(mass), step,
              {1, at.shift[0], at.shift[1], at.shift[2], shift / mass, third / mass, fourth / mass,
               at.square + square / mass});
    }
    if (!is_far_above && k < nodes) add_cell(second, c, running);
  }
  return sum;
}

Conditional condition(const BoundingScore& score, double c) {
  const double shift = c - score.center;
  Conditional at{-0.5 * shift * shift - log_of_normalisation, {shift, 0, 0}, shift * shift};
  for (int k = 0; k < 2; ++k) {
    const BoundedScore& bounded = score.bounded[k];
    const double x = bounded.sign * (bounded.center - bounded.scale * c);
    const NormalTail tail = normal_tail(x);
    at.log_density += tail.log_mass;
    at.shift[1 + k] = bounded.sign * tail.hazard;
    at.square += 1 - x * tail.hazard;
  }
  return at;
}

/// Slope and curvature of the logarithm at c.
std::array<double, 2> slope_and_curvature(const BoundingScore& score, double c) {
  double slope = score.center - c;
  double curvature = -1;
  for (const BoundedScore& bounded : score.bounded) {
    const double x = bounded.sign * (bounded.center - bounded.scale * c);
    const double hazard = normal_tail(x).hazard;
    slope -= bounded.sign * bounded.scale * hazard;
    curvature -= bounded.scale * bounded.scale * hazard * (x + hazard);
  }
  return {slope, curvature};
}

/// Where the density, or its product with another, is largest, roughly: Newton's method from c, by bisection
/// where it leaves what is known.
double mode(const BoundingScore& score, const BoundingScore* other, double c) {
  double below = -std::numeric_limits<double>::infinity();
  double above = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 60; ++k) {
    auto [slope, curvature] = slope_and_curvature(score, c);
    if (other != nullptr) {
      const auto more = slope_and_curvature(*other, c);
      slope += more[0];
      curvature += more[1];
    }
    (slope > 0 ? below : above) = c;
    const double move = -slope / curvature;
    const double next = c + move;
    if (std::abs(move) < 0.1) return next;
    c = next > below && next < above ? next : 0.5 * (below + above);
  }
  return c;
}

}  // namespace
}  // namespace qklab
