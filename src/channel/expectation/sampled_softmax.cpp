#include "sampled_softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "qklab/channel/labels/attention_loss.hpp"

namespace qklab {
namespace {

/// Points handled together: their rows stay in the cache.
constexpr int kBatch = 128;
/// Below this V beta^2 one Newton step from w beats any remembered minimiser.
constexpr double kStiff = 1e-3;

/// Sums over points, before they are divided by the number of points.
struct Sums {
  double residual_square = 0;  ///< |g|^2
  double along_first = 0;      ///< g . first normals
  double along_second = 0;     ///< g . second normals
  double preimage_divergence = 0;
  double center_divergence = 0;
  double jacobian_square = 0;
  double loss = 0;
  double converged = 0;
  double competing = 0;
};

void add_batch(const ProximalMap& map, const GaussianPoints& points, int first, int count, Sums& sums);
OutputExpectations expectations_of(const Sums& sums, const ScoreMix& mix, int count);
void mix_rows(const GaussianPoints& points, double shared, double own, int first, int count, PointRows& to);
void attend(const Channel& channel, const PointRows& white, PointRows& scores, PointRows& attention_rows);
void copy_rows(const PointRows& from, int from_first, PointRows& to, int to_first, int count);
double ordered_sum(const double* values, int count);

}  // namespace

ScoreMix score_mix(const ScoreOverlaps& overlaps, double noise_in) {
  const double variance = overlaps.teacher_self_overlap + noise_in;
  const double teacher = std::sqrt(variance);
  // q - m^2/(Q0 + noise_in) from parts that do not cancel.
  const double own = overlaps.orthogonal + overlaps.overlap * overlaps.overlap * noise_in /
                                               (overlaps.teacher_self_overlap * variance);
  return {teacher, overlaps.overlap / teacher, std::sqrt(std::max(0.0, own))};
}

SampledSoftmax::SampledSoftmax(const Channel& channel, double noise_out, GaussianPoints points)
    : channel_(channel),
      noise_out_(noise_out),
      points_(std::move(points)),
      minimisers_(channel.pair_count(), points_.count) {}

OutputExpectations SampledSoftmax::evaluate(const ScoreMix& mix, double susceptibility) {
  const bool stiff = susceptibility * channel_.beta * channel_.beta < kStiff;
  const auto start = has_minimisers_ && !stiff ? ProximalMap::Start::minimiser : ProximalMap::Start::center;
  ProximalMap map(channel_, kBatch);
  PointRows scores(channel_.pair_count(), kBatch);
  Sums sums;
  for (int first = 0; first < points_.count; first += kBatch) {
    const int count = std::min(kBatch, points_.count - first);
    fill(mix, first, count, map, scores);
    copy_rows(minimisers_, first, map.minimiser, 0, count);
    map.solve(count, susceptibility, start);
    copy_rows(map.minimiser, 0, minimisers_, first, count);
    add_batch(map, points_, first, count, sums);
  }
  has_minimisers_ = true;
  OutputExpectations expectations = expectations_of(sums, mix, points_.count);
  expectations.loss += channel_.tokens * noise_out_;  // the part along 1 of each row, which nothing can fit
  return expectations;
}

double SampledSoftmax::test_error(const ScoreMix& mix) const {
  const int entries = channel_.tokens * channel_.tokens;
  PointRows white(channel_.pair_count(), kBatch);
  PointRows scores(channel_.pair_count(), kBatch);
  PointRows teacher(entries, kBatch);
  PointRows student(entries, kBatch);
  double sum = 0;
  for (int first = 0; first < points_.count; first += kBatch) {
    const int count = std::min(kBatch, points_.count - first);
    mix_rows(points_, mix.teacher, 0, first, count, white);
    attend(channel_, white, scores, teacher);
    mix_rows(points_, mix.shared, mix.own, first, count, white);
    attend(channel_, white, scores, student);
    std::array<double, kBatch> squares{};
    for (int k = 0; k < entries; ++k) {
      for (int i = 0; i < count; ++i) {
        const double difference = teacher.row(k)[i] - student.row(k)[i];
        squares[i] += difference * difference;
      }
    }
    sum += ordered_sum(squares.data(), count);
  }
  return sum / points_.count;
}

void SampledSoftmax::fill(const ScoreMix& mix, int first, int count, ProximalMap& map,
                          PointRows& scores) const {
  mix_rows(points_, mix.teacher, 0, first, count, map.preimage);
  mix_rows(points_, mix.shared, mix.own, first, count, map.center);
  attend(channel_, map.preimage, scores, map.attention);
  copy_rows(map.attention, 0, map.label, 0, count);
  const double size = std::sqrt(noise_out_);
  for (int k = 0; k < points_.label_noise.rows(); ++k) {
    const double* noise = points_.label_noise.row(k) + first;
    for (int i = 0; i < count; ++i) map.label.row(k)[i] += size * noise[i];
  }
}

namespace {

/// sum over points and rows of a b; the rows of b begin at point `first`.
double ordered_product(const PointRows& a, const PointRows& b, int first, int count) {
  std::array<double, kBatch> products{};
  for (int k = 0; k < a.rows(); ++k) {
    const double* x = a.row(k);
    const double* y = b.row(k) + first;
    for (int i = 0; i < count; ++i) products[i] += x[i] * y[i];
  }
  return ordered_sum(products.data(), count);
}

void add_batch(const ProximalMap& map, const GaussianPoints& points, int first, int count, Sums& sums) {
  sums.residual_square += ordered_product(map.residual, map.residual, 0, count);
  sums.along_first += ordered_product(map.residual, points.first, first, count);
  sums.along_second += ordered_product(map.residual, points.second, first, count);
  sums.preimage_divergence += ordered_sum(map.preimage_divergence.row(0), count);
  sums.center_divergence += ordered_sum(map.center_divergence.row(0), count);
  sums.jacobian_square += ordered_sum(map.jacobian_square.row(0), count);
  sums.loss += ordered_sum(map.loss.row(0), count);
  sums.converged += ordered_sum(map.converged.row(0), count);
  sums.competing += ordered_sum(map.competing.row(0), count);
}

/// Stein: E g.second = own E div_w g and E g.first = teacher E div_z g + shared E div_w g.
OutputExpectations expectations_of(const Sums& sums, const ScoreMix& mix, int count) {
  OutputExpectations e;
  e.gradient_square = sums.residual_square / count;
  e.teacher_divergence_implicit = sums.preimage_divergence / count;
  e.student_divergence_implicit = sums.center_divergence / count;
  e.teacher_divergence_stein = e.teacher_divergence_implicit;
  e.student_divergence_stein = e.student_divergence_implicit;
  if (mix.own > 0) {
    e.student_divergence_stein = sums.along_second / count / mix.own;
    e.teacher_divergence_stein =
        (sums.along_first / count - mix.shared * e.student_divergence_stein) / mix.teacher;
  }
  e.jacobian_square = sums.jacobian_square / count;
  e.loss = sums.loss / count;
  e.unconverged = 1 - sums.converged / count;
  e.competing = sums.competing / count;
  return e;
}

void mix_rows(const GaussianPoints& points, double shared, double own, int first, int count, PointRows& to) {
  for (int k = 0; k < to.rows(); ++k) {
    const double* a = points.first.row(k) + first;
    const double* b = points.second.row(k) + first;
    double* target = to.row(k);
    for (int i = 0; i < count; ++i) target[i] = shared * a[i] + own * b[i];
  }
}

/// sigma of white scores; `scores` is work space.
void attend(const Channel& channel, const PointRows& white, PointRows& scores, PointRows& attention_rows) {
  for (int a = 0, k = 0; a < channel.tokens; ++a) {
    for (int b = a; b < channel.tokens; ++b, ++k) {
      const double scale = a == b ? std::sqrt(2.0) : 1.0;
      for (int i = 0; i < white.stride(); ++i) scores.row(k)[i] = scale * white.row(k)[i];
    }
  }
  attention(channel, scores.stride(), scores.row(0), attention_rows.row(0));
}

void copy_rows(const PointRows& from, int from_first, PointRows& to, int to_first, int count) {
  for (int k = 0; k < from.rows(); ++k) {
    std::copy_n(from.row(k) + from_first, count, to.row(k) + to_first);
  }
}

/// Eight interleaved partial sums, the same order on every machine.
double ordered_sum(const double* values, int count) {
  std::array<double, 8> partial{};
  for (int i = 0; i < count; ++i) partial[i % 8] += values[i];
  return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
         ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

}  // namespace
}  // namespace qklab
