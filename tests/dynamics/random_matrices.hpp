#pragma once

#include <Eigen/Cholesky>
#include <cmath>
#include <random>
#include <vector>

#include "qklab/channel/attention_indexed/attention_indexed.hpp"

namespace qklab::test {

/// Matrices with iid normal entries, plus a share of the last one in all others and a trace of about
/// trace sqrt(d).
inline std::vector<Eigen::MatrixXd> random_matrices(int count, int dimension, double trace, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, 0.7 / std::sqrt(dimension));
  std::vector<Eigen::MatrixXd> matrices;
  for (int k = 0; k < count; ++k) {
    matrices.emplace_back(
        Eigen::MatrixXd::NullaryExpr(dimension, dimension, [&]() { return normal(generator); }));
    // Nearly symmetric, so that Tr(S S'^T) and Tr(S S') differ but both count.
    const Eigen::MatrixXd mirrored = matrices.back().transpose();
    matrices.back() += 0.5 * mirrored;
    matrices.back().diagonal().array() += trace / std::sqrt(dimension);
  }
  for (int k = 0; k + 1 < count; ++k) matrices[k] += 0.4 * matrices.back();
  return matrices;
}

/// Scores of fresh Gaussian tokens under every matrix: a row a score, laid out as AttentionIndexedModel says,
/// a column a sample.
inline Eigen::MatrixXd random_scores(const AttentionIndexedModel& model,
                                     const std::vector<Eigen::MatrixXd>& matrices, int samples,
                                     unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  const auto d = matrices.front().rows();
  const int t = model.tokens;
  const Eigen::MatrixXd root = model.covariance.llt().matrixL();
  std::vector<Eigen::MatrixXd> tokens(t, Eigen::MatrixXd::Zero(d, samples));
  for (int j = 0; j < t; ++j) {
    const Eigen::MatrixXd fresh =
        Eigen::MatrixXd::NullaryExpr(d, samples, [&]() { return normal(generator); });
    for (int i = 0; i < t; ++i) tokens[i] += root(i, j) * fresh;
  }
  Eigen::MatrixXd scores(static_cast<Eigen::Index>(matrices.size()) * t * t, samples);
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    for (int j = 0; j < t; ++j) {
      const Eigen::MatrixXd image = matrices[k] * tokens[j];
      for (int i = 0; i < t; ++i) {
        const double center = model.centred ? model.covariance(i, j) * matrices[k].trace() : 0.0;
        scores.row((static_cast<int>(k) * t + i) * t + j) =
            (tokens[i].cwiseProduct(image).colwise().sum().array() - center) / std::sqrt(d);
      }
    }
  }
  return scores;
}

}  // namespace qklab::test
