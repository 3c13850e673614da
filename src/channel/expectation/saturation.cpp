#include "qklab/channel/expectation/saturation.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gaussian_points.hpp"
#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

/// Limits of the pseudo-true scale: noise on the scores shrinks it, and it never reaches 0.
constexpr double smallest_scale = 1e-3;
constexpr double largest_scale = 2;

/// What one scrambling says.
struct Sampled {
  double scale = 1;
  double test_error = 0;
  double gradient_self_overlap = 0;
  double gradient_scale = 0;
};

/// One scrambling of the population: teacher scores and the labels that noise on them makes.
class Population {
 public:
  Population(const Channel& channel, double noise_in, double teacher_self_overlap, GaussianPoints points);

  Sampled saturate() const;

 private:
  std::vector<double> labels(double scale) const;
  double risk(double scale) const;
  void add_slopes(double scale, Sampled& sampled) const;

  int pairs() const { return channel_.pair_count(); }
  int entries() const { return channel_.tokens * channel_.tokens; }
  int pair(int a, int b) const {
    const int lower = std::min(a, b);
    return lower * channel_.tokens - lower * (lower - 1) / 2 + std::max(a, b) - lower;
  }

  Channel channel_;
  double noise_in_;
  double teacher_self_overlap_;
  int count_;
  std::vector<double> scores_;        ///< h0, [pair * count + point]
  std::vector<double> clean_labels_;  ///< sigma(h0), [(a * T + b) * count + point]
  std::vector<double> noisy_labels_;  ///< sigma(h0 + sqrt(noise_in) xi)
};

Sampled Population::saturate() const {
  Sampled sampled;
  if (noise_in_ > 0) {
    const auto [scale, minimum] = boost::math::tools::brent_find_minima([this](double c) { return risk(c); },
                                                                        smallest_scale, largest_scale, 40);
    sampled.scale = scale;
  }
  add_slopes(sampled.scale, sampled);
  return sampled;
}

/// Averages over the population, at S = c S0, of the error and of its derivatives. A row of the softmax sees
/// the score of each pair once, and white coordinates give a diagonal score the weight 2 (docs/theory 7.1).
void Population::add_slopes(double scale, Sampled& sampled) const {
  const int tokens = channel_.tokens;
  const double beta = channel_.beta;
  const std::vector<double> student = labels(scale);
  for (int i = 0; i < count_; ++i) {
    for (int a = 0; a < tokens; ++a) {
      const auto place = [&](int b) { return static_cast<std::size_t>(a * tokens + b) * count_ + i; };
      double mean_score = 0;
      for (int b = 0; b < tokens; ++b) mean_score += student[place(b)] * scores_[pair(a, b) * count_ + i];
      for (int c = 0; c < tokens; ++c) {
        const double attention = student[place(c)];
        const double missed = clean_labels_[place(c)] - attention;
        double square = 0;     // sum over white coordinates of (d A_ac)^2
        double laplacian = 0;  // sum of d^2 A_ac
        for (int b = 0; b < tokens; ++b) {
          const double weight = a == b ? 2 : 1;
          const double other = student[place(b)];
          const double lead = (b == c ? 1 : 0) - other;
          square += weight * std::pow(beta * attention * lead, 2);
          laplacian += weight * beta * beta * attention * (lead * lead - other * (1 - other));
        }
        const double along_scale = beta * attention * (scores_[pair(a, c) * count_ + i] - mean_score);
        sampled.test_error += missed * missed / count_;
        sampled.gradient_self_overlap += (square - missed * laplacian) / count_;
        sampled.gradient_scale -= 2 * missed * along_scale / teacher_self_overlap_ / count_;
      }
    }
  }
}

double Population::risk(double scale) const {
  const std::vector<double> student = labels(scale);
  double sum = 0;
  for (std::size_t k = 0; k < student.size(); ++k) sum += std::pow(noisy_labels_[k] - student[k], 2);
  return sum / count_;
}

std::vector<double> Population::labels(double scale) const {
  std::vector<double> scaled(scores_);
  for (double& score : scaled) score *= scale;
  std::vector<double> result(static_cast<std::size_t>(entries()) * count_);
  attention(channel_, count_, scaled.data(), result.data());
  return result;
}

Population::Population(const Channel& channel, double noise_in, double teacher_self_overlap,
                       GaussianPoints points)
    : channel_(channel),
      noise_in_(noise_in),
      teacher_self_overlap_(teacher_self_overlap),
      count_(points.count),
      scores_(static_cast<std::size_t>(channel.pair_count()) * points.count) {
  std::vector<double> noisy(scores_.size());
  for (int a = 0; a < channel.tokens; ++a) {
    for (int b = a; b < channel.tokens; ++b) {
      const int k = pair(a, b);
      const double spread = a == b ? std::sqrt(2.0) : 1;
      for (int i = 0; i < count_; ++i) {
        const std::size_t place = static_cast<std::size_t>(k) * count_ + i;
        scores_[place] = spread * std::sqrt(teacher_self_overlap) * points.first.row(k)[i];
        noisy[place] = scores_[place] + spread * std::sqrt(noise_in) * points.second.row(k)[i];
      }
    }
  }
  clean_labels_ = labels(1);
  noisy_labels_.resize(clean_labels_.size());
  attention(channel_, count_, noisy.data(), noisy_labels_.data());
}

Estimate estimate(const std::vector<Sampled>& samples, double Sampled::*member) {
  std::vector<double> values;
  for (const Sampled& sampled : samples) values.push_back(sampled.*member);
  return mean_and_error(values);
}

}  // namespace

Saturation saturation(const Channel& channel, double noise_in, double teacher_self_overlap,
                      const QmcOptions& options) {
  checked_differentiable(channel);
  checked(options);
  if (!(noise_in >= 0 && std::isfinite(noise_in))) {
    throw InvalidParameter("noise_in", noise_in, "the variance of the noise must be >= 0 and finite");
  }
  if (!(teacher_self_overlap > 0 && std::isfinite(teacher_self_overlap))) {
    throw InvalidParameter("teacher self-overlap", teacher_self_overlap, "Q0 must be > 0 and finite");
  }
  if (channel.activation == Activation::identity) {
    return {{1, 0}, {0, 0}, {2.0 * channel.score_dimension(), 0}, {0, 0}};
  }
  const int count = (1 << options.log2_points) / options.scramblings;
  std::vector<Sampled> samples(static_cast<std::size_t>(options.scramblings));
#pragma omp parallel for schedule(static)
  for (int s = 0; s < options.scramblings; ++s) {
    GaussianPoints points(channel, false, count, options.seed, static_cast<std::uint64_t>(s));
    samples[s] = Population(channel, noise_in, teacher_self_overlap, std::move(points)).saturate();
  }
  return {estimate(samples, &Sampled::scale), estimate(samples, &Sampled::test_error),
          estimate(samples, &Sampled::gradient_self_overlap), estimate(samples, &Sampled::gradient_scale)};
}

}  // namespace qklab
