#include "amp_pass.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lab/student/matrix_student.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "white_scores.hpp"

namespace qklab::lab {
namespace {

std::span<const double> entries(const Matrix& matrix);

}  // namespace

template <class Real>
struct AmpPass<Real>::Workspace {
  std::unique_ptr<AmpOutput> output;
  std::vector<double> scores;   ///< e(S)
  std::vector<double> centers;  ///< w
  std::vector<double> residuals;
};

template <class Real>
AmpPass<Real>::AmpPass(const Dataset<Real>& data, const Problem& problem, const AmpOutputFactory& output)
    : layout_(matrix_layout(problem)),
      tokens_(data.tokens),
      sweep_(data, make_matrix_student<Real>(problem)),
      residuals_(static_cast<std::size_t>(data.samples) * channel_of(problem).score_count(layout_)),
      workspaces_(static_cast<std::size_t>(omp_get_max_threads())) {
  for (auto& workspace : workspaces_) {
    workspace = std::make_shared<Workspace>();
    workspace->output = output();
  }
}

template <class Real>
AmpAnswer AmpPass<Real>::operator()(const Matrix& student, const Sectors& susceptibility, double damping) {
  std::vector<AmpOutputSums> chunk_sums(sweep_.chunks());
  AmpAnswer result;
  result.field.resize(student.rows(), student.cols());
  const std::span<double> field(result.field.data(), static_cast<std::size_t>(result.field.size()));
  const double trace_slope = sweep_(
      entries(student),
      [&](const ScoreBlock& block) { chunk_sums[block.chunk].add(answer(block, susceptibility, damping)); },
      field);
  AmpOutputSums sums;
  for (const AmpOutputSums& chunk : chunk_sums) sums.add(chunk);

  const auto d = static_cast<double>(student.rows());
  const double weight = 2 / (d * d);
  const auto samples = static_cast<double>(sweep_.data().samples);
  result.hats = {{weight * sums.residual_square.symmetric, weight * sums.residual_square.antisymmetric},
                 {-weight * sums.divergence.symmetric, -weight * sums.divergence.antisymmetric}};
  result.loss = sums.loss;
  result.competing = sums.competing / samples;
  result.unconverged = sums.unconverged / samples;
  sweep_.student().finish(entries(student), 2 / (d * std::sqrt(d)), trace_slope, field);
  const Sectors& vhat = result.hats.susceptibility;
  if (layout_ == ScoreLayout::pairs) {
    result.field += vhat.symmetric * student;
  } else {
    result.field += (vhat.symmetric + vhat.antisymmetric) / 2 * student +
                    (vhat.symmetric - vhat.antisymmetric) / 2 * student.transpose();
  }
  return result;
}

/// From the scores of a block to its slopes: w = e(S) - V g.
template <class Real>
AmpOutputSums AmpPass<Real>::answer(const ScoreBlock& block, const Sectors& susceptibility, double damping) {
  Workspace& work = *workspaces_[block.thread];
  const int count = block.count;
  const auto samples = static_cast<std::size_t>(sweep_.data().samples);
  const int coordinates = static_cast<int>(residuals_.size() / samples);
  const int pairs = tokens_ * (tokens_ + 1) / 2;
  for (auto* rows : {&work.scores, &work.centers, &work.residuals}) {
    rows->resize(static_cast<std::size_t>(coordinates) * count);
  }
  scores_to_white(layout_, tokens_, count, block.scores, work.scores.data());
  for (int k = 0; k < coordinates; ++k) {
    const double v = k < pairs ? susceptibility.symmetric : susceptibility.antisymmetric;
    const double* g = residuals_.data() + k * samples + block.first;
    const std::size_t row = static_cast<std::size_t>(k) * count;
    for (int s = 0; s < count; ++s) work.centers[row + s] = work.scores[row + s] - v * g[s];
  }
  const AmpOutputSums sums = work.output->residuals(
      {count, work.centers.data(), work.scores.data(), block.correlation, block.gram, work.residuals.data()},
      susceptibility);
  for (int k = 0; k < coordinates; ++k) {
    double* g = residuals_.data() + k * samples + block.first;
    double* found = work.residuals.data() + static_cast<std::size_t>(k) * count;
    for (int s = 0; s < count; ++s) g[s] = found[s] = damping * g[s] + (1 - damping) * found[s];
  }
  slopes_from_white(layout_, tokens_, count, work.residuals.data(), block.slopes);
  return sums;
}

void AmpOutputSums::add(const AmpOutputSums& other) {
  residual_square.symmetric += other.residual_square.symmetric;
  residual_square.antisymmetric += other.residual_square.antisymmetric;
  divergence.symmetric += other.divergence.symmetric;
  divergence.antisymmetric += other.divergence.antisymmetric;
  loss += other.loss;
  competing += other.competing;
  unconverged += other.unconverged;
}

namespace {

std::span<const double> entries(const Matrix& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

}  // namespace

template class AmpPass<float>;
template class AmpPass<double>;

}  // namespace qklab::lab
