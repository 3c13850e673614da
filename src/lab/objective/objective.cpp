#include "qklab/lab/objective/objective.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "qklab/channel/labels/attention_loss.hpp"
#include "sweep.hpp"

namespace qklab::lab {

template <class Real>
Objective<Real>::Objective(const Dataset<Real>& data, const Problem& problem, int block_samples,
                           const Ranks& ranks)
    : channel_(checked_differentiable(channel_of(problem))),
      sweep_(std::make_shared<Sweep<Real>>(data, make_student<Real>(problem), block_samples, ranks)) {}

template <class Real>
long Objective<Real>::size() const {
  return sweep_->size();
}

template <class Real>
double Objective<Real>::operator()(std::span<const double> parameters, std::span<double> gradient) {
  const Dataset<Real>& data = sweep_->data();
  const Student<Real>& student = sweep_->student();
  std::vector<double> losses(sweep_->chunks());
  const double trace_slope = (*sweep_)(
      parameters,
      [&](const ScoreBlock& block) {
        losses[block.chunk] += loss_and_gradient(channel_, block.count, block.scores, block.correlation,
                                                 block.gram, block.slopes, student.layout());
      },
      gradient);
  const double loss = data.constant + sweep_->total(std::move(losses));
  const double d = data.dimension;
  student.finish(parameters, 1 / (d * d * std::sqrt(d)), trace_slope, gradient);
  loss_ = loss / (d * d);
  regularization_ = student.penalty(parameters);
  return loss_ + regularization_;
}

double objective_bytes(const Problem& problem, int bytes_per_real, int threads, int ranks) {
  return sweep_bytes(problem, parameter_count(problem) / problem.dimension, bytes_per_real, threads, ranks);
}

template class Objective<float>;
template class Objective<double>;

}  // namespace qklab::lab
