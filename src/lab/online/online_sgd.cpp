#include "qklab/lab/online/online_sgd.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "lab/matrix/serial_blas.hpp"
#include "online_batch.hpp"
#include "online_measure.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

/// Two checks for escape are this factor of tau apart.
constexpr double check_spacing = 1.01;
/// A batch whose loss is this many times that of the first one is on its way to infinity.
constexpr double runaway = 1e6;

/// The parameters and the batches that move them.
template <class Real>
class OnlineDescent {
 public:
  OnlineDescent(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                const OnlineSgdOptions& options, std::uint64_t seed);

  /// P <- P - eta (mean gradient + g P/d) on the next batch; returns the batch's mean loss before.
  double step();
  OnlinePoint measure(bool with_loss);
  const Matrix& parameters() const { return parameters_; }
  long steps() const { return steps_; }
  double time() const { return options_.step * static_cast<double>(steps_) / dimension_; }

 private:
  using Batch = OnlineBatch<Real>;
  typename Batch::Sums sweep(Purpose purpose, long first, int count, bool with_gradient);
  void update(const typename Batch::Sums& sums, int chunks);
  int fitting_threads(int rows, int work) const;
  std::vector<double> traces() const;

  const AttentionIndexedModel& model_;
  const std::vector<Matrix>& teachers_;
  const OnlineSgdOptions& options_;
  int dimension_;
  std::shared_ptr<const OnlineStudent<Real>> student_;
  Batch batch_;
  Matrix parameters_;
  std::vector<Real> rounded_;          ///< P in the precision of the products
  std::vector<Real> chunk_gradients_;  ///< one a chunk
  std::vector<typename Batch::Workspace> workspaces_;
  long steps_ = 0;
};

template <class Real>
OnlineRun descend(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                  const OnlineSgdOptions& options, std::uint64_t seed);

void require_teachers(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers);
void require_room(const AttentionIndexedModel& model, int dimension, const OnlineSgdOptions& options);

}  // namespace

OnlineRun online_sgd(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                     const OnlineSgdOptions& options, std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  checked(model);
  checked(options);
  require_teachers(model, teachers);
  require_room(model, static_cast<int>(teachers.front().rows()), options);
  OnlineRun run = options.precision == Precision::f32 ? descend<float>(model, teachers, options, seed)
                                                      : descend<double>(model, teachers, options, seed);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

namespace {

template <class Real>
OnlineRun descend(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                  const OnlineSgdOptions& options, std::uint64_t seed) {
  const int d = static_cast<int>(teachers.front().rows());
  OnlineRun run;
  run.seed = seed;
  run.dimension = d;
  for (const Matrix& teacher : teachers) {
    run.teacher_self_overlap += overlap(teacher, teacher);
    run.teacher_trace += teacher.trace() / d;
  }
  OnlineDescent<Real> descent(model, teachers, options, seed);
  EscapeWatch watch(options.thresholds, run.teacher_self_overlap, run.teacher_trace);
  const auto look = [&](const OnlinePoint& point) {
    watch.see(point.time, point.overlap, point.self_overlap, point.trace);
  };
  const auto step_of = [&](double time) { return std::lround(time * d / options.step); };
  const long last = step_of(options.times.back());
  std::optional<double> first_loss;
  long next_check = 0;
  for (auto time = options.times.begin(); time != options.times.end();) {
    if (descent.steps() == step_of(*time)) {
      OnlinePoint point = descent.measure(true);
      if (!std::isfinite(point.loss.value) || !std::isfinite(point.self_overlap)) {
        run.outcome = Outcome::diverged;
        break;
      }
      run.points.push_back(std::move(point));
      ++time;
      continue;
    }
    if (descent.steps() == next_check) {
      look(descent.measure(false));
      next_check = std::max(next_check + 1, std::lround(check_spacing * static_cast<double>(next_check)));
      if (options.progress) {
        options.progress({"steps", static_cast<double>(descent.steps()), static_cast<double>(last)});
      }
      if (options.stop_at_last_escape && watch.all_passed()) break;
    }
    if (options.stop.requested()) {
      run.outcome = Outcome::interrupted;
      break;
    }
    const double loss = descent.step();
    if (!first_loss) first_loss = loss;
    if (!(loss < runaway * *first_loss)) {
      run.outcome = Outcome::diverged;
      break;
    }
  }
  if (run.outcome == Outcome::converged) look(descent.measure(false));
  run.escapes = watch.escapes();
  for (Escape& escape : run.escapes) escape.samples = options.batch * escape.time * d / options.step;
  run.parameters = descent.parameters();
  run.steps = descent.steps();
  return run;
}

template <class Real>
OnlineDescent<Real>::OnlineDescent(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                                   const OnlineSgdOptions& options, std::uint64_t seed)
    : model_(model),
      teachers_(teachers),
      options_(options),
      dimension_(static_cast<int>(teachers.front().rows())),
      student_(make_online_student<Real>(options.parametrization, dimension_, model.tokens, model.heads,
                                         online_width(options, dimension_))),
      batch_(model, teachers, *student_, seed),
      parameters_(online_start(options, dimension_, model.heads, seed)),
      rounded_(parameters_.data(), parameters_.data() + parameters_.size()) {}

template <class Real>
double OnlineDescent<Real>::step() {
  const typename Batch::Sums sums = sweep(Purpose::tokens, steps_ * options_.batch, options_.batch, true);
  const int chunks = (options_.batch + batch_.chunk_samples() - 1) / batch_.chunk_samples();
  update(sums, chunks);
  ++steps_;
  return sums.loss / options_.batch;
}

/// The chunks of a batch, reduced in order.
template <class Real>
typename OnlineBatch<Real>::Sums OnlineDescent<Real>::sweep(Purpose purpose, long first, int count,
                                                            bool with_gradient) {
  const int chunk_samples = batch_.chunk_samples();
  const int chunks = (count + chunk_samples - 1) / chunk_samples;
  const std::size_t entries = rounded_.size();
  if (with_gradient) chunk_gradients_.resize(entries * chunks);
  const std::vector<double> traces = this->traces();
  std::vector<typename Batch::Sums> sums(static_cast<std::size_t>(chunks));
  const int threads = fitting_threads(count * model_.tokens, chunks);
  if (std::ssize(workspaces_) < threads) workspaces_.resize(static_cast<std::size_t>(threads));
  const SerialBlas serial;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int begin = chunk * chunk_samples;
    sums[chunk] = batch_.evaluate(purpose, first + begin, std::min(chunk_samples, count - begin),
                                  rounded_.data(), traces, workspaces_[omp_get_thread_num()],
                                  with_gradient ? chunk_gradients_.data() + chunk * entries : nullptr);
  }
  typename Batch::Sums total = sums.front();
  for (auto sum = sums.begin() + 1; sum != sums.end(); ++sum) {
    total.loss += sum->loss;
    total.square_loss += sum->square_loss;
    for (std::size_t k = 0; k < sum->centre_slopes.size(); ++k) {
      total.centre_slopes[k] += sum->centre_slopes[k];
    }
  }
  return total;
}

template <class Real>
void OnlineDescent<Real>::update(const typename Batch::Sums& sums, int chunks) {
  const auto columns = static_cast<std::size_t>(student_->columns());
  const double scale = 1 / (std::sqrt(dimension_) * options_.batch);
  std::vector<double> trace_weights(sums.centre_slopes.size(), 0.0);
  if (model_.centred) {
    std::ranges::transform(sums.centre_slopes, trace_weights.begin(),
                           [&](double sum) { return -scale * sum; });
  }
  const int threads = fitting_threads(chunks, dimension_);
  const SerialBlas serial;
#pragma omp parallel num_threads(threads)
  {
    std::vector<double> gradient(columns);
#pragma omp for schedule(static)
    for (int row = 0; row < dimension_; ++row) {
      std::ranges::fill(gradient, 0.0);
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const Real* part = chunk_gradients_.data() + chunk * rounded_.size() + row * columns;
        for (std::size_t i = 0; i < columns; ++i) gradient[i] += part[i];
      }
      double* p = parameters_.data() + row * columns;
      for (std::size_t i = 0; i < columns; ++i) {
        gradient[i] = scale * gradient[i] + options_.weight_decay / dimension_ * p[i];
      }
      student_->add_trace_gradient(row, {p, columns}, trace_weights, gradient);
      for (std::size_t i = 0; i < columns; ++i) p[i] -= options_.step * gradient[i];
      std::copy_n(p, columns, rounded_.data() + row * columns);
    }
  }
}

template <class Real>
OnlinePoint OnlineDescent<Real>::measure(bool with_loss) {
  std::vector<Matrix> students;
  for (int k = 0; k < model_.heads; ++k) students.push_back(student_->matrix(parameters_, k));
  OnlinePoint point = measure_overlaps(students, teachers_);
  for (int k = 0; k < model_.heads; ++k)
    point.factor_norm += student_->factor_norm(parameters_, k) / dimension_;
  point.steps = steps_;
  point.time = time();
  point.samples = static_cast<double>(options_.batch) * static_cast<double>(steps_);
  if (!with_loss) return point;
  const auto count = static_cast<double>(options_.loss_samples);
  const typename Batch::Sums sums = sweep(Purpose::measurement, steps_ * options_.loss_samples,
                                          static_cast<int>(options_.loss_samples), false);
  point.loss.value = sums.loss / count;
  point.loss.se =
      std::sqrt(std::max(0.0, sums.square_loss / count - point.loss.value * point.loss.value) / (count - 1));
  if (options_.spectra && std::isfinite(point.self_overlap)) {
    measure_spectra(students.front(), options_.parametrization == Parametrization::untied, point);
  }
  return point;
}

/// Starting a thread costs as much as some million flops when cores are busy.
template <class Real>
int OnlineDescent<Real>::fitting_threads(int rows, int work) const {
  constexpr double flops_a_thread = 1e7;
  const double flops = 4.0 * rows * static_cast<double>(rounded_.size());
  const int fitting = static_cast<int>(std::min(flops / flops_a_thread, 1e9));
  return std::clamp(std::min(fitting, work), 1, omp_get_max_threads());
}

template <class Real>
std::vector<double> OnlineDescent<Real>::traces() const {
  std::vector<double> result;
  for (int k = 0; k < model_.heads; ++k) result.push_back(student_->trace(parameters_, k));
  return result;
}

void require_teachers(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers) {
  if (std::ssize(teachers) != model.teacher_heads) {
    throw InvalidParameter("teachers", static_cast<double>(teachers.size()),
                           fmt::format("the model has teacher_heads = {}", model.teacher_heads));
  }
  for (const Matrix& teacher : teachers) {
    if (teacher.rows() != teacher.cols() || teacher.rows() != teachers.front().rows() ||
        teacher.rows() == 0) {
      throw InvalidParameter("teachers", fmt::format("{} x {}", teacher.rows(), teacher.cols()),
                             "must be square matrices of one size");
    }
    if (!teacher.isApprox(teacher.transpose(), 1e-12)) {
      throw InvalidParameter("teachers", "not symmetric", "must be symmetric");
    }
  }
}

void require_room(const AttentionIndexedModel& model, int dimension, const OnlineSgdOptions& options) {
  const double d = dimension;
  const double real = options.precision == Precision::f32 ? 4 : 8;
  const double head_columns = options.parametrization == Parametrization::direct ? d
                              : options.parametrization == Parametrization::tied ? options.kappa * d
                                                                                 : 2 * options.kappa * d;
  const double columns = model.heads * head_columns;
  const double chunks = std::max(1.0, options.batch * model.tokens / 256.0);
  const double rows = 256;
  const double bytes = d * columns * (8 + real * (1 + chunks)) +
                       omp_get_max_threads() * rows * 4 * columns * real +
                       8 * d * d * (6.0 + 3 * model.heads + 2 * model.teacher_heads);
  require_memory(bytes, fmt::format("dimension = {}", dimension),
                 fmt::format("online descent with batch = {}", options.batch));
}

}  // namespace
}  // namespace qklab::lab
