#include "sampled_untied_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "channel/proximal/untied_proximal.hpp"

namespace qklab {
namespace {

int link_count(const Channel& channel) {
  return channel.tokens * (channel.tokens - 1) / 2;
}

/// The last coordinates of the net: those before belong to GaussianPoints.
PointRows antisymmetric_normals(const Channel& channel, bool with_label_noise, int count, std::uint64_t seed,
                                std::uint64_t scrambling) {
  const int before = GaussianPoints::dimension(channel, with_label_noise);
  const int links = link_count(channel);
  const std::vector<double> normals = scrambled_sobol_normals(before + links, count, seed, scrambling);
  PointRows rows(links, count);
  for (int k = 0; k < links; ++k) {
    std::copy_n(normals.data() + static_cast<std::size_t>(before + k) * count, count, rows.row(k));
  }
  return rows;
}

/// Sums over points, before they are divided by their number.
struct Sums {
  double symmetric_square = 0;
  double antisymmetric_square = 0;
  double along_first = 0;   ///< g_s . first normals
  double along_second = 0;  ///< g_s . second normals
  double along_third = 0;   ///< g_a . third normals
  double loss = 0;
  double teacher_divergence = 0;
  double symmetric_divergence = 0;
  double antisymmetric_divergence = 0;
  double symmetric_jacobian = 0;
  double mixed_jacobian = 0;
  double antisymmetric_jacobian = 0;
  int converged = 0;
  int competing = 0;

  void add(const UntiedResponse& response) {
    loss += response.loss;
    teacher_divergence += response.teacher_divergence;
    symmetric_divergence += response.symmetric_divergence;
    antisymmetric_divergence += response.antisymmetric_divergence;
    symmetric_jacobian += response.symmetric_jacobian;
    mixed_jacobian += response.mixed_jacobian;
    antisymmetric_jacobian += response.antisymmetric_jacobian;
    converged += response.converged ? 1 : 0;
    competing += response.competing ? 1 : 0;
  }
};

/// Stein: E g_s.second = own E div_w g_s, E g_s.first = teacher E div_z g_s + shared E div_w g_s, and
/// E g_a.third = sqrt(q_a) E div_u g_a.
UntiedOutputExpectations expectations_of(const Sums& sums, const ScoreMix& mix, double antisymmetric,
                                         int count) {
  UntiedOutputExpectations e;
  e.symmetric_square = sums.symmetric_square / count;
  e.antisymmetric_square = sums.antisymmetric_square / count;
  e.teacher_divergence_implicit = sums.teacher_divergence / count;
  e.symmetric_divergence_implicit = sums.symmetric_divergence / count;
  e.antisymmetric_divergence_implicit = sums.antisymmetric_divergence / count;
  e.teacher_divergence = e.teacher_divergence_implicit;
  e.symmetric_divergence = e.symmetric_divergence_implicit;
  if (mix.own > 0) {
    e.symmetric_divergence = sums.along_second / count / mix.own;
    e.teacher_divergence = (sums.along_first / count - mix.shared * e.symmetric_divergence) / mix.teacher;
  }
  e.antisymmetric_divergence =
      antisymmetric > 0 ? sums.along_third / count / antisymmetric : e.antisymmetric_divergence_implicit;
  e.symmetric_jacobian = sums.symmetric_jacobian / count;
  e.mixed_jacobian = sums.mixed_jacobian / count;
  e.antisymmetric_jacobian = sums.antisymmetric_jacobian / count;
  e.loss = sums.loss / count;
  e.unconverged = 1 - static_cast<double>(sums.converged) / count;
  e.competing = static_cast<double>(sums.competing) / count;
  return e;
}

}  // namespace

int SampledUntiedSoftmax::dimension(const Channel& channel, bool with_label_noise) {
  return GaussianPoints::dimension(channel, with_label_noise) + link_count(channel);
}

SampledUntiedSoftmax::SampledUntiedSoftmax(const Channel& channel, double noise_out, int point_count,
                                           std::uint64_t seed, std::uint64_t scrambling)
    : channel_(channel),
      noise_out_(noise_out),
      points_(channel, noise_out > 0, point_count, seed, scrambling),
      third_(antisymmetric_normals(channel, noise_out > 0, point_count, seed, scrambling)),
      minimisers_(static_cast<std::size_t>(channel.tokens) * channel.tokens * point_count) {}

UntiedOutputExpectations SampledUntiedSoftmax::evaluate(const ScoreMix& mix, double antisymmetric,
                                                        const UntiedSusceptibilities& susceptibilities) {
  const auto map = untied_proximal_map(channel_);
  const int pairs = channel_.pair_count();
  const int size = channel_.tokens * channel_.tokens;
  const double label_size = std::sqrt(noise_out_);
  std::vector<double> preimage(pairs);
  std::vector<double> center(size);
  std::vector<double> residual(size);
  std::vector<double> noise(points_.label_noise.rows());
  Sums sums;
  for (int i = 0; i < points_.count; ++i) {
    for (int k = 0; k < pairs; ++k) {
      const double first = points_.first.row(k)[i];
      preimage[k] = mix.teacher * first;
      center[k] = mix.shared * first + mix.own * points_.second.row(k)[i];
    }
    for (int k = pairs; k < size; ++k) center[k] = antisymmetric * third_.row(k - pairs)[i];
    for (std::size_t k = 0; k < noise.size(); ++k) {
      noise[k] = label_size * points_.label_noise.row(static_cast<int>(k))[i];
    }
    double* minimiser = minimisers_.data() + static_cast<std::size_t>(i) * size;
    sums.add(map->solve({preimage.data(), noise.empty() ? nullptr : noise.data(), center.data(), minimiser,
                         residual.data(), has_minimisers_},
                        susceptibilities));
    for (int k = 0; k < pairs; ++k) {
      sums.symmetric_square += residual[k] * residual[k];
      sums.along_first += residual[k] * points_.first.row(k)[i];
      sums.along_second += residual[k] * points_.second.row(k)[i];
    }
    for (int k = pairs; k < size; ++k) {
      sums.antisymmetric_square += residual[k] * residual[k];
      sums.along_third += residual[k] * third_.row(k - pairs)[i];
    }
  }
  has_minimisers_ = true;
  UntiedOutputExpectations expectations = expectations_of(sums, mix, antisymmetric, points_.count);
  expectations.loss += channel_.tokens * noise_out_;  // the part along 1 of each row, which nothing can fit
  return expectations;
}

double SampledUntiedSoftmax::test_error(const ScoreMix& mix, double antisymmetric) const {
  const auto map = untied_proximal_map(channel_);
  const int pairs = channel_.pair_count();
  const int size = channel_.tokens * channel_.tokens;
  std::vector<double> coordinates(size, 0.0);
  std::vector<double> teacher(size);
  std::vector<double> student(size);
  double sum = 0;
  for (int i = 0; i < points_.count; ++i) {
    std::fill(coordinates.begin() + pairs, coordinates.end(), 0.0);
    for (int k = 0; k < pairs; ++k) coordinates[k] = mix.teacher * points_.first.row(k)[i];
    map->attend(coordinates.data(), teacher.data());
    for (int k = 0; k < pairs; ++k) {
      coordinates[k] = mix.shared * points_.first.row(k)[i] + mix.own * points_.second.row(k)[i];
    }
    for (int k = pairs; k < size; ++k) coordinates[k] = antisymmetric * third_.row(k - pairs)[i];
    map->attend(coordinates.data(), student.data());
    for (int k = 0; k < size; ++k) sum += (teacher[k] - student[k]) * (teacher[k] - student[k]);
  }
  return sum / points_.count;
}

}  // namespace qklab
