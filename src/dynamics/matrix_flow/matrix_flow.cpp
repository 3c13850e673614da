#include "qklab/dynamics/matrix_flow/matrix_flow.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "dynamics/trajectory/integrate.hpp"
#include "products.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/core/threads.hpp"
#include "qklab/dynamics/slow_fast/critical_mean.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Follows the weights; remembers where the critical manifold was met last.
class Flow {
 public:
  Flow(const PopulationLoss& loss, const std::vector<StudentWeights>& shape,
       const std::vector<MatrixXd>& teachers, const MatrixFlowOptions& options);

  void slopes(const std::vector<double>& values, std::vector<double>& change);
  OrderPoint point(const std::vector<double>& values, double time);
  std::vector<StudentWeights> weights(const std::vector<double>& values) const;
  /// Whether mu was on the critical manifold when a gradient was last asked for.
  bool is_critical() const { return is_critical_; }
  std::span<const MatrixXd> students() const { return {matrices_.data(), weights_.size()}; }

 private:
  /// Order parameters and the gradient at these weights.
  LossGradient gradient_at(const std::vector<double>& values);
  /// H_k of (10.4), without its multiplier.
  MatrixXd gradient_matrix(const LossGradient& gradient, Index student) const;

  const PopulationLoss& loss_;
  MatrixFlowOptions options_;
  bool on_manifold_;
  std::vector<StudentWeights> weights_;
  std::vector<MatrixXd> matrices_;  ///< students, teachers
  OrderParameters at_;
  VectorXd mean_;  ///< mu of the students on the critical manifold
  bool is_critical_ = true;
};

std::vector<double> packed(const std::vector<StudentWeights>& weights);
void unpack(const std::vector<double>& values, std::vector<StudentWeights>& weights);
double multiplier(const StudentWeights& weights, const MatrixXd& pushed_first, const MatrixXd& pushed_second);
void check(const PopulationLoss& loss, const std::vector<StudentWeights>& start,
           const std::vector<MatrixXd>& teachers, const MatrixFlowOptions& options);

}  // namespace

MatrixFlow matrix_flow(const PopulationLoss& loss, const std::vector<StudentWeights>& start,
                       const std::vector<MatrixXd>& teachers, const std::vector<double>& times,
                       const MatrixFlowOptions& options) {
  check(loss, start, teachers, options);
  require_times(times);
  const WholeBudgetForBlas blas;
  Flow flow(loss, start, teachers, options);
  MatrixFlow result;
  std::vector<double> last = packed(start);
  bool critical = true;
  const auto system = [&](const std::vector<double>& values, std::vector<double>& change, double /*tau*/) {
    flow.slopes(values, change);
  };
  const auto observe = [&](const std::vector<double>& values, double time) {
    last = values;
    result.trajectory.points.push_back(flow.point(values, time));
    critical = critical && flow.is_critical();
    if (options.observe) options.observe(time, flow.students());
  };
  IntegrationOptions integration;
  // Entries of weights are of order 1/sqrt(d).
  integration.tolerance = options.tolerance / std::sqrt(static_cast<double>(teachers.front().rows()));
  integration.max_steps = options.max_steps;
  integration.stop = options.stop;
  const Integration done = integrate(system, packed(start), times, integration, observe);
  result.trajectory.outcome = critical || !is_answer(done.outcome) ? done.outcome : Outcome::stagnated;
  result.trajectory.steps = done.steps;
  result.weights = flow.weights(last);
  return result;
}

MatrixXd student_matrix(Parametrization parametrization, const StudentWeights& weights) {
  switch (parametrization) {
    case Parametrization::tied:
      return product(CblasNoTrans, CblasTrans, weights.first, weights.first);
    case Parametrization::untied:
      return product(CblasNoTrans, CblasTrans, weights.first, weights.second);
    case Parametrization::direct:
      break;
  }
  return weights.first;
}

StudentWeights gaussian_weights(Parametrization parametrization, int dimension, int width, double start,
                                std::uint64_t seed, std::uint64_t student) {
  if (!(start >= 0) || !std::isfinite(start))
    throw InvalidParameter("start", start, "must be >= 0 and finite");
  const bool direct = parametrization == Parametrization::direct;
  if (dimension < 1) throw InvalidParameter("dimension", dimension, "the dimension d must be >= 1");
  if (!direct && width < 1) throw InvalidParameter("width", width, "the width p must be >= 1");
  const int columns = direct ? dimension : width;
  const auto draw = [&](std::uint64_t index) {
    MatrixXd entries(dimension, columns);
    RandomStream(seed, Purpose::student, index)
        .fill_normal(std::span(entries.data(), static_cast<std::size_t>(entries.size())));
    return MatrixXd(std::sqrt(start / columns) * entries);
  };
  StudentWeights weights{draw(2 * student), {}};
  if (parametrization == Parametrization::untied) weights.second = draw(2 * student + 1);
  return weights;
}

namespace {

Flow::Flow(const PopulationLoss& loss, const std::vector<StudentWeights>& shape,
           const std::vector<MatrixXd>& teachers, const MatrixFlowOptions& options)
    : loss_(loss),
      options_(options),
      on_manifold_(!loss.model().centred && options.trace_scale == TraceScale::critical_manifold),
      weights_(shape) {
  for (const StudentWeights& w : shape) matrices_.push_back(student_matrix(options.parametrization, w));
  matrices_.insert(matrices_.end(), teachers.begin(), teachers.end());
  mean_ = order_parameters(matrices_).mean.head(loss.model().heads);
}

LossGradient Flow::gradient_at(const std::vector<double>& values) {
  unpack(values, weights_);
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    matrices_[k] = student_matrix(options_.parametrization, weights_[k]);
  }
  at_ = order_parameters(matrices_);
  if (!on_manifold_) return loss_.evaluate(at_);
  at_.mean.head(mean_.size()) = mean_;
  CriticalMean critical = critical_mean(loss_, at_);
  is_critical_ = is_answer(critical.outcome);
  at_ = critical.parameters;
  mean_ = at_.mean.head(mean_.size());
  critical.gradient.mean.setZero();
  return critical.gradient;
}

MatrixXd Flow::gradient_matrix(const LossGradient& gradient, Index student) const {
  MatrixXd sum = MatrixXd::Zero(matrices_.front().rows(), matrices_.front().cols());
  MatrixXd mirrored = sum;
  for (Index l = 0; l < at_.count(); ++l) {
    sum += gradient.slope.transposed(student, l) * matrices_[l];
    mirrored += gradient.slope.product(student, l) * matrices_[l];
  }
  sum += mirrored.transpose();
  if (!loss_.model().centred) {
    sum.diagonal().array() += std::sqrt(static_cast<double>(sum.rows())) * gradient.mean[student];
  }
  return sum;
}

void Flow::slopes(const std::vector<double>& values, std::vector<double>& change) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) {
    change = values;  // the integrator goes back from there
    return;
  }
  const LossGradient gradient = gradient_at(values);
  std::vector<StudentWeights> slopes(weights_.size());
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    const StudentWeights& w = weights_[k];
    const MatrixXd h = gradient_matrix(gradient, static_cast<Index>(k));
    switch (options_.parametrization) {
      case Parametrization::direct: {
        slopes[k].first = -h;
        if (on_manifold_) slopes[k].first.diagonal().array() += h.trace() / static_cast<double>(h.rows());
        break;
      }
      case Parametrization::tied: {
        const MatrixXd both = -h - h.transpose();
        slopes[k].first = product(CblasNoTrans, CblasNoTrans, both, w.first);
        break;
      }
      case Parametrization::untied: {
        slopes[k].first = -product(CblasNoTrans, CblasNoTrans, h, w.second);
        slopes[k].second = -product(CblasTrans, CblasNoTrans, h, w.first);
        if (on_manifold_) {
          const double chi = multiplier(w, slopes[k].first, slopes[k].second);
          slopes[k].first -= chi * w.second;
          slopes[k].second -= chi * w.first;
        }
        slopes[k].second -= options_.weight_decay * w.second;
        break;
      }
    }
    slopes[k].first -= options_.weight_decay * w.first;
  }
  change = packed(slopes);
}

OrderPoint Flow::point(const std::vector<double>& values, double time) {
  const LossGradient gradient = gradient_at(values);
  VectorXd trace(at_.count());
  for (Index k = 0; k < trace.size(); ++k) {
    trace[k] = matrices_[k].trace() / static_cast<double>(matrices_[k].rows());
  }
  return {time, at_, trace, gradient.loss};
}

std::vector<StudentWeights> Flow::weights(const std::vector<double>& values) const {
  std::vector<StudentWeights> result = weights_;
  unpack(values, result);
  return result;
}

std::vector<double> packed(const std::vector<StudentWeights>& weights) {
  std::vector<double> values;
  for (const StudentWeights& w : weights) {
    values.insert(values.end(), w.first.data(), w.first.data() + w.first.size());
    values.insert(values.end(), w.second.data(), w.second.data() + w.second.size());
  }
  return values;
}

void unpack(const std::vector<double>& values, std::vector<StudentWeights>& weights) {
  const double* next = values.data();
  for (StudentWeights& w : weights) {
    for (MatrixXd* part : {&w.first, &w.second}) {
      std::copy_n(next, part->size(), part->data());
      next += part->size();
    }
  }
}

/// chi of (10.63), with -D V and -D^T U given: Tr D V V^T = Tr V^T D V.
double multiplier(const StudentWeights& weights, const MatrixXd& pushed_first,
                  const MatrixXd& pushed_second) {
  const double drift =
      pushed_first.cwiseProduct(weights.second).sum() + pushed_second.cwiseProduct(weights.first).sum();
  return drift / (weights.first.squaredNorm() + weights.second.squaredNorm());
}

void check(const PopulationLoss& loss, const std::vector<StudentWeights>& start,
           const std::vector<MatrixXd>& teachers, const MatrixFlowOptions& options) {
  const AttentionIndexedModel& model = loss.model();
  if (std::ssize(start) != model.heads || std::ssize(teachers) != model.teacher_heads) {
    throw InvalidParameter(
        "matrices", std::to_string(start.size()) + " + " + std::to_string(teachers.size()),
        "must be the model's " + std::to_string(model.heads) + " + " + std::to_string(model.teacher_heads));
  }
  const Index d = teachers.front().rows();
  for (const MatrixXd& teacher : teachers) {
    if (teacher.rows() != d || teacher.cols() != d || d == 0) {
      throw InvalidParameter("teacher",
                             std::to_string(teacher.rows()) + " x " + std::to_string(teacher.cols()),
                             "all teachers must be d x d");
    }
  }
  const bool untied = options.parametrization == Parametrization::untied;
  for (const StudentWeights& w : start) {
    const bool square = options.parametrization != Parametrization::direct || w.first.cols() == d;
    const bool paired =
        untied ? w.second.rows() == d && w.second.cols() == w.first.cols() : w.second.size() == 0;
    if (w.first.rows() != d || !square || !paired) {
      throw InvalidParameter("weights",
                             std::to_string(w.first.rows()) + " x " + std::to_string(w.first.cols()),
                             "must have d rows (direct: d x d; untied: a second factor of the same shape)");
    }
  }
  if (options.parametrization == Parametrization::tied && !model.centred) {
    throw InvalidParameter("centred", "false",
                           "tied weights have a trace of order d, and need centred scores");
  }
  if (!(options.weight_decay >= 0) || !std::isfinite(options.weight_decay)) {
    throw InvalidParameter("lambda", options.weight_decay, "the weight decay must be >= 0 and finite");
  }
  IntegrationOptions integration;
  integration.tolerance = options.tolerance;
  integration.max_steps = options.max_steps;
  require_options(integration);
}

}  // namespace
}  // namespace qklab::dynamics
