#include "gaussian_points.hpp"

#include <cmath>
#include <vector>

#include "qklab/core/sobol.hpp"

namespace qklab {
namespace {

/// Rows of `to` become an isometric image of size - 1 rows of iid normals, orthogonal to `unit`: the
/// Householder reflection that maps the last axis to `unit` is applied to (normals, 0).
void embed(const std::vector<double>& unit, const double* normals, int count, PointRows& to, int first_row) {
  const int size = static_cast<int>(unit.size());
  std::vector<double> mirror = unit;
  mirror.back() -= 1;
  const double square = 2 * (1 - unit.back());  // |mirror|^2 of a unit vector
  std::vector<double> along(count, 0.0);
  for (int k = 0; k + 1 < size; ++k) {
    const double weight = 2 * mirror[k] / square;
    for (int i = 0; i < count; ++i) along[i] += weight * normals[static_cast<std::size_t>(k) * count + i];
  }
  for (int k = 0; k < size; ++k) {
    double* row = to.row(first_row + k);
    for (int i = 0; i < count; ++i) {
      const double own = k + 1 < size ? normals[static_cast<std::size_t>(k) * count + i] : 0.0;
      row[i] = own - mirror[k] * along[i];
    }
  }
}

/// Unit vector of white coordinates along which all scores shift alike.
std::vector<double> invisible_direction(int tokens) {
  std::vector<double> direction;
  for (int a = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b) direction.push_back((a == b ? 1.0 : std::sqrt(2.0)) / tokens);
  }
  return direction;
}

}  // namespace

int GaussianPoints::dimension(const Channel& channel, bool with_label_noise) {
  return 2 * channel.score_dimension() + (with_label_noise ? channel.tokens * (channel.tokens - 1) : 0);
}

GaussianPoints::GaussianPoints(const Channel& channel, bool with_label_noise, int point_count,
                               std::uint64_t seed, std::uint64_t scrambling)
    : count(point_count),
      first(channel.pair_count(), point_count),
      second(channel.pair_count(), point_count),
      label_noise(with_label_noise ? channel.tokens * channel.tokens : 0, point_count) {
  const std::vector<double> normals =
      scrambled_sobol_normals(dimension(channel, with_label_noise), count, seed, scrambling);
  const auto column = [&](int k) { return normals.data() + static_cast<std::size_t>(k) * count; };
  const int dimension_of_scores = channel.score_dimension();
  const std::vector<double> invisible = invisible_direction(channel.tokens);
  embed(invisible, column(0), count, first, 0);
  embed(invisible, column(dimension_of_scores), count, second, 0);
  if (!with_label_noise) return;
  const std::vector<double> common(channel.tokens, 1 / std::sqrt(static_cast<double>(channel.tokens)));
  for (int a = 0; a < channel.tokens; ++a) {
    embed(common, column(2 * dimension_of_scores + a * (channel.tokens - 1)), count, label_noise,
          a * channel.tokens);
  }
}

}  // namespace qklab
