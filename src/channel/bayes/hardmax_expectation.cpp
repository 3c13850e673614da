#include "qklab/channel/bayes/hardmax_expectation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "channel/expectation/gaussian_points.hpp"
#include "hardmax_posterior.hpp"
#include "qklab/channel/bayes/bayes_residual.hpp"
#include "qklab/channel/labels/attention_loss.hpp"

namespace qklab {
namespace {

/// Labels that permuted tokens turn into one another say the same on average.
struct LabelClass {
  std::array<int, 3> largest;
  int size;
};

std::vector<LabelClass> label_classes(int tokens);
bool is_out_of_reach(int tokens, const std::array<int, 3>& largest, const std::array<double, 6>& center);
double information_of(const Channel& channel, const GaussianPoints& points, double ratio);
double disagreement(const Channel& channel, const GaussianPoints& points, double student, double own);

/// Nodes of the interpolation in log(1 + rho).
constexpr double spacing = 0.2;
constexpr int stencil = 6;

}  // namespace

HardmaxExpectation::HardmaxExpectation(int tokens, const QmcOptions& options)
    : channel_{Activation::hardmax, tokens, 1.0}, options_(checked(options)) {
  BayesResidual(channel_, 0, 0);  // refuses what it does not know
}

std::vector<double> HardmaxExpectation::information(double ratio) {
  const double place = std::log1p(ratio) / spacing;
  const int first = std::max(0, static_cast<int>(place) - stencil / 2 + 1);
  std::vector<double> logarithms(static_cast<std::size_t>(options_.scramblings), 0.0);
  for (int i = first; i < first + stencil; ++i) {
    double weight = 1;
    for (int j = first; j < first + stencil; ++j) {
      if (j != i) weight *= (place - j) / (i - j);
    }
    const std::vector<double>& node = log_information_at(i);
    for (std::size_t s = 0; s < node.size(); ++s) logarithms[s] += weight * node[s];
  }
  for (double& value : logarithms) value = std::exp(value);
  return logarithms;
}

const std::vector<double>& HardmaxExpectation::log_information_at(int node) {
  const auto known = nodes_.find(node);
  if (known != nodes_.end()) return known->second;
  std::vector<double> values = sampled_information(std::expm1(node * spacing));
  for (double& value : values) value = std::log(value);
  return nodes_[node] = std::move(values);
}

std::vector<double> HardmaxExpectation::sampled_information(double ratio) const {
  // A share 1/sqrt(rho) of the labels is in doubt, and only these cost an integral.
  const int cost = channel_.tokens == 2 ? 4 : 16;
  const auto gain = std::bit_floor(static_cast<unsigned>(std::sqrt(std::min(1 + ratio, 256.0))));
  const int share = std::max(1, cost / static_cast<int>(gain));
  const int count = std::max(1, (1 << options_.log2_points) / share / options_.scramblings / 2);
  std::vector<double> values(static_cast<std::size_t>(options_.scramblings));
#pragma omp parallel for schedule(static)
  for (int s = 0; s < options_.scramblings; ++s) {
    const GaussianPoints points(channel_, false, count, options_.seed, static_cast<std::uint64_t>(s));
    values[s] = information_of(channel_, points, ratio);
  }
  return values;
}

std::vector<double> HardmaxExpectation::test_error(double teacher_self_overlap, double error) const {
  std::vector<double> values(static_cast<std::size_t>(options_.scramblings));
  if (channel_.tokens == 2) {
    // Either row errs where h_aa - h_ab of teacher and student, of correlation sqrt(q/Q0), differ in sign.
    const double angle = std::asin(std::sqrt(std::min(1.0, error / teacher_self_overlap)));
    std::ranges::fill(values, 4 * angle / std::numbers::pi);
    return values;
  }
  const int count = (1 << options_.log2_points) / options_.scramblings;
  const double student = std::sqrt(std::max(0.0, teacher_self_overlap - error));
#pragma omp parallel for schedule(static)
  for (int s = 0; s < options_.scramblings; ++s) {
    const GaussianPoints points(channel_, false, count, options_.seed, static_cast<std::uint64_t>(s));
    values[s] = disagreement(channel_, points, student, std::sqrt(error));
  }
  return values;
}

namespace {

std::vector<LabelClass> label_classes(int tokens) {
  const int labels = tokens == 2 ? 4 : 27;
  std::map<std::array<int, 3>, int> sizes;
  for (int code = 0; code < labels; ++code) {
    std::array<int, 3> largest{};
    for (int a = 0, rest = code; a < tokens; ++a, rest /= tokens) largest[a] = rest % tokens;
    std::array<int, 3> order{0, 1, 2};
    std::array<int, 3> least = largest;
    do {
      std::array<int, 3> permuted{};
      for (int a = 0; a < tokens; ++a) permuted[order[a]] = order[largest[a]];
      least = std::min(least, permuted);
    } while (std::next_permutation(order.begin(), order.begin() + tokens));
    ++sizes[least];
  }
  std::vector<LabelClass> classes;
  classes.reserve(sizes.size());
  for (const auto& [largest, size] : sizes) classes.push_back({largest, size});
  return classes;
}

/// A label whose probability is below 1e-11: one of its scores lies too far below another of the row.
bool is_out_of_reach(int tokens, const std::array<int, 3>& largest, const std::array<double, 6>& center) {
  constexpr double far = -6.7;
  const auto variance = [](int a, int b) { return a == b ? 2.0 : 1.0; };
  const auto score = [&](int a, int b) {
    const int low = std::min(a, b);
    const int pair = low * tokens - low * (low - 1) / 2 + std::max(a, b) - low;
    return center[pair] * std::sqrt(variance(a, b));
  };
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) {
      if (b == largest[a]) continue;
      const double margin = score(a, largest[a]) - score(a, b);
      if (margin < far * std::sqrt(variance(a, largest[a]) + variance(a, b))) return true;
    }
  }
  return false;
}

/// In units of V = 1. With each w goes -w: the sampled function is then one of rho, as the true one, and not
/// of sqrt(rho).
double information_of(const Channel& channel, const GaussianPoints& points, double ratio) {
  const std::vector<LabelClass> classes = label_classes(channel.tokens);
  const int pairs = channel.pair_count();
  const double size = std::sqrt(ratio);
  double sum = 0;
  std::array<double, 6> center{};
  std::array<double, 6> residual{};
  for (int i = 0; i < 2 * points.count; ++i) {
    const double scale = i % 2 == 0 ? size : -size;
    for (int k = 0; k < pairs; ++k) center[k] = scale * points.first.row(k)[i / 2];
    for (const LabelClass& labels : classes) {
      if (is_out_of_reach(channel.tokens, labels.largest, center)) continue;
      const Evidence evidence =
          hardmax_posterior(channel.tokens, labels.largest.data(), center.data(), 1, residual.data());
      const double square =
          std::inner_product(residual.begin(), residual.begin() + pairs, residual.begin(), 0.0);
      sum += labels.size * std::exp(evidence.log) * square;
    }
  }
  return sum / (2.0 * points.count);
}

/// Twice the expected number of rows whose largest entries differ.
double disagreement(const Channel& channel, const GaussianPoints& points, double student, double own) {
  const int tokens = channel.tokens;
  const auto count = static_cast<std::size_t>(points.count);
  std::vector<double> student_scores;
  std::vector<double> teacher_scores;
  for (int a = 0, k = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, ++k) {
      const double spread = a == b ? std::numbers::sqrt2 : 1;
      for (std::size_t i = 0; i < count; ++i) {
        const double shared = spread * student * points.first.row(k)[i];
        student_scores.push_back(shared);
        teacher_scores.push_back(shared + spread * own * points.second.row(k)[i]);
      }
    }
  }
  std::vector<double> student_labels(count * tokens * tokens);
  std::vector<double> teacher_labels(student_labels.size());
  attention(channel, points.count, student_scores.data(), student_labels.data());
  attention(channel, points.count, teacher_scores.data(), teacher_labels.data());
  double sum = 0;
  for (std::size_t k = 0; k < student_labels.size(); ++k) {
    sum += std::abs(student_labels[k] - teacher_labels[k]);
  }
  return sum / static_cast<double>(count);
}

}  // namespace
}  // namespace qklab
