#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "loss_form.hpp"

namespace qklab::dynamics {
namespace {

/// Normals behind the 2T - 1 distinct scores of the first two rows, one column a score: h_11, h_12 ... h_1T,
/// h_22, h_23 ... h_2T.
struct RowPoints {
  Eigen::ArrayXXd first;   ///< of the teacher
  Eigen::ArrayXXd second;  ///< of the part of the student independent of it
};

/// Labels of one row at every point, the own token first: p_b of the student, p0_b of the teacher, and what
/// their derivatives share.
struct RowLabels {
  Eigen::ArrayXXd student;
  Eigen::ArrayXXd teacher;
  Eigen::ArrayXXd gap;         ///< e_b - sum_i p_i e_i with e = p - p0
  Eigen::ArrayXd square;       ///< sum_i p_i^2
  Eigen::ArrayXd common;       ///< sum_i p_i p0_i
  Eigen::ArrayXd sample_loss;  ///< sum_i e_i^2
};

class SampledSoftmaxForm final : public SymmetricLoss::Form {
 public:
  SampledSoftmaxForm(int tokens, double beta, const QmcOptions& qmc);

  LossSlopes slopes(const PairOverlaps& overlaps) const override;
  double noise_strength(const PairOverlaps& overlaps) const override;

 private:
  RowLabels labels(const RowPoints& points, const PairOverlaps& overlaps, int row) const;
  Eigen::ArrayXXd softmax(Eigen::ArrayXXd scores) const;
  /// d l/d G_ab of every entry of a row.
  Eigen::ArrayXXd forces(const RowLabels& row) const;

  int tokens_;
  double beta_;
  std::vector<std::vector<Eigen::Index>> columns_;  ///< of the scores of row 1 and of row 2
  std::vector<RowPoints> scramblings_;
};

}  // namespace

std::unique_ptr<SymmetricLoss::Form> sampled_softmax_form(int tokens, double beta, const QmcOptions& qmc) {
  return std::make_unique<SampledSoftmaxForm>(tokens, beta, qmc);
}

namespace {

SampledSoftmaxForm::SampledSoftmaxForm(int tokens, double beta, const QmcOptions& qmc)
    : tokens_(tokens), beta_(beta), columns_(2) {
  for (Eigen::Index b = 0; b < tokens; ++b) columns_[0].push_back(b);
  columns_[1] = {tokens, 1};
  for (Eigen::Index b = 2; b < tokens; ++b) columns_[1].push_back(tokens + b - 1);
  const int scores = 2 * tokens - 1;
  const int count = (1 << qmc.log2_points) / qmc.scramblings;
  for (int s = 0; s < qmc.scramblings; ++s) {
    const std::vector<double> normals = scrambled_sobol_normals(2 * scores, count, qmc.seed, s);
    const Eigen::Map<const Eigen::ArrayXXd> all(normals.data(), count, 2 * scores);
    scramblings_.push_back({all.leftCols(scores), all.rightCols(scores)});
  }
}

/// Of the row loss r = sum_i (p_i - p0_i)^2, in the score of entry b: r_bb = 2 beta^2 [p_b^2 (1 - 2 p_b +
/// sum p^2) + p_b (1 - 2 p_b) gap_b], and across student and teacher -2 beta^2 p_b p0_b (1 - p_b - p0_b + sum
/// p p0). Scores of one token have twice the variance. Phi = T E r.
LossSlopes SampledSoftmaxForm::slopes(const PairOverlaps& overlaps) const {
  std::vector<double> losses;
  LossSlopes mean;
  const double share = tokens_ / (2.0 * static_cast<double>(scramblings_.size()));
  for (const RowPoints& points : scramblings_) {
    double loss = 0;
    for (int row = 0; row < 2; ++row) {
      const RowLabels of = labels(points, overlaps, row);
      const Eigen::ArrayXXd& p = of.student;
      const Eigen::ArrayXXd& p0 = of.teacher;
      loss += 0.5 * tokens_ * of.sample_loss.mean();
      for (Eigen::Index b = 0; b < tokens_; ++b) {
        const double variance = b == 0 ? 2 : 1;
        const auto curvature = p.col(b).square() * (1 - 2 * p.col(b) + of.square) +
                               p.col(b) * (1 - 2 * p.col(b)) * of.gap.col(b);
        const auto cross = p.col(b) * p0.col(b) * (1 - p.col(b) - p0.col(b) + of.common);
        mean.self_overlap += share * variance * beta_ * beta_ * curvature.mean();
        mean.overlap -= share * variance * 2 * beta_ * beta_ * cross.mean();
      }
    }
    losses.push_back(loss);
  }
  mean.loss = mean_and_error(losses);
  return mean;
}

/// kN = 2 T E sum_b g_1b^2 + 2 T E g_11^2 + 2 T (T - 1) E g_12 g_21.
double SampledSoftmaxForm::noise_strength(const PairOverlaps& overlaps) const {
  double sum = 0;
  for (const RowPoints& points : scramblings_) {
    const Eigen::ArrayXXd first = forces(labels(points, overlaps, 0));
    const Eigen::ArrayXXd second = forces(labels(points, overlaps, 1));
    const double own = first.square().rowwise().sum().mean() + second.square().rowwise().sum().mean();
    const double diagonal = first.col(0).square().mean() + second.col(0).square().mean();
    sum += tokens_ * (own + diagonal) + 2 * tokens_ * (tokens_ - 1) * (first.col(1) * second.col(1)).mean();
  }
  return sum / static_cast<double>(scramblings_.size());
}

RowLabels SampledSoftmaxForm::labels(const RowPoints& points, const PairOverlaps& overlaps, int row) const {
  const double width0 = std::sqrt(overlaps.teacher);
  const double slope = overlaps.overlap / width0;
  const double rest = std::sqrt(overlaps.orthogonal);
  Eigen::ArrayXXd student(points.first.rows(), tokens_);
  Eigen::ArrayXXd teacher(points.first.rows(), tokens_);
  for (Eigen::Index b = 0; b < tokens_; ++b) {
    const Eigen::Index column = columns_[row][b];
    const double width = b == 0 ? std::sqrt(2.0) : 1.0;
    teacher.col(b) = width * width0 * points.first.col(column);
    student.col(b) = width * (slope * points.first.col(column) + rest * points.second.col(column));
  }
  RowLabels of;
  of.student = softmax(std::move(student));
  of.teacher = softmax(std::move(teacher));
  const Eigen::ArrayXXd error = of.student - of.teacher;
  of.square = of.student.square().rowwise().sum();
  of.common = (of.student * of.teacher).rowwise().sum();
  of.sample_loss = error.square().rowwise().sum();
  of.gap = error.colwise() - (of.student * error).rowwise().sum();
  return of;
}

Eigen::ArrayXXd SampledSoftmaxForm::softmax(Eigen::ArrayXXd scores) const {
  const Eigen::ArrayXd largest = scores.rowwise().maxCoeff();
  scores = (beta_ * (scores.colwise() - largest)).exp();
  const Eigen::ArrayXd total = scores.rowwise().sum();
  return scores.colwise() / total;
}

Eigen::ArrayXXd SampledSoftmaxForm::forces(const RowLabels& row) const {
  return 2 * beta_ * row.student * row.gap;
}

}  // namespace
}  // namespace qklab::dynamics
