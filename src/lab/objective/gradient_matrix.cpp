#include "gradient_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "lab/student/matrix_student.hpp"
#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "sweep.hpp"

namespace qklab::lab {

template <class Real>
Matrix gradient_matrix(const Dataset<Real>& data, const Problem& problem, const Matrix& student) {
  const Channel channel = checked(channel_of(problem));
  const ScoreLayout layout = matrix_layout(problem);
  Sweep<Real> sweep(data, make_matrix_student<Real>(problem));
  const std::span<const double> s(student.data(), static_cast<std::size_t>(student.size()));
  Matrix gradient(student.rows(), student.cols());
  const std::span<double> entries(gradient.data(), static_cast<std::size_t>(gradient.size()));
  const double trace_slope = sweep(
      s,
      [&](const ScoreBlock& block) {
        loss_and_gradient(channel, block.count, block.scores, block.correlation, block.gram, block.slopes,
                          layout);
      },
      entries);
  const double d = data.dimension;
  sweep.student().finish(s, 1 / (d * d * std::sqrt(d)), trace_slope, entries);
  return gradient;
}

std::vector<Direction> falling_directions(const Problem& problem, const Matrix& gradient, double least) {
  const double decay = problem.lambda / problem.dimension;
  std::vector<Direction> directions;
  const Modes modes = symmetric_modes(symmetric_part(gradient));
  const auto d = static_cast<Eigen::Index>(modes.values.size());
  for (Eigen::Index i = 0; i < d && modes.values[i] + decay < -least; ++i) {
    directions.push_back({modes.vectors.col(i), modes.vectors.col(i)});
  }
  if (problem.parametrization == Parametrization::tied) return directions;
  for (Eigen::Index i = d - 1; i >= 0 && decay - modes.values[i] < -least; --i) {
    directions.push_back({modes.vectors.col(i), -modes.vectors.col(i)});
  }
  return directions;
}

template Matrix gradient_matrix(const Dataset<float>&, const Problem&, const Matrix&);
template Matrix gradient_matrix(const Dataset<double>&, const Problem&, const Matrix&);

}  // namespace qklab::lab
