#include "online_batch.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "lab/data/draw_tokens.hpp"
#include "lab/matrix/gemm.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

constexpr int rows_a_chunk = 256;

/// Modes below this fraction of the largest are rounding.
constexpr double smallest_mode = 1e-12;

/// Indices of the label noise of samples that are measured on, beyond those of training samples.
constexpr std::uint64_t measured_noise = std::uint64_t{1} << 62;

Matrix square_root(const Eigen::MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(matrix);
  return modes.operatorSqrt();
}

}  // namespace

template <class Real>
OnlineBatch<Real>::OnlineBatch(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                               const OnlineStudent<Real>& student, std::uint64_t seed)
    : model_(model),
      student_(student),
      seed_(seed),
      dimension_(static_cast<int>(teachers.front().rows())),
      correlated_(!model.covariance.isIdentity(0)) {
  if (correlated_) mixing_ = square_root(model.covariance);
  std::vector<Eigen::VectorXd> columns;
  for (const Matrix& teacher : teachers) {
    const Modes modes = symmetric_modes(teacher);
    const double largest = std::max(std::abs(modes.values.front()), std::abs(modes.values.back()));
    TeacherFactor place{static_cast<int>(columns.size()), 0, 0};
    for (const bool positive : {true, false}) {
      for (std::size_t i = 0; i < modes.values.size(); ++i) {
        const double value = positive ? modes.values[i] : -modes.values[i];
        if (value <= smallest_mode * largest) continue;
        columns.emplace_back(std::sqrt(value) * modes.vectors.col(static_cast<Eigen::Index>(i)));
        ++(positive ? place.positive : place.negative);
      }
    }
    places_.push_back(place);
    teacher_traces_.push_back(teacher.trace());
  }
  factor_columns_ = static_cast<int>(columns.size());
  factors_.resize(columns.size() * static_cast<std::size_t>(dimension_));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (int i = 0; i < dimension_; ++i) {
      factors_[static_cast<std::size_t>(i) * columns.size() + c] = static_cast<Real>(columns[c][i]);
    }
  }
}

template <class Real>
int OnlineBatch<Real>::chunk_samples() const {
  return std::max(1, rows_a_chunk / model_.tokens);
}

template <class Real>
typename OnlineBatch<Real>::Sums OnlineBatch<Real>::evaluate(Purpose purpose, long first, int count,
                                                             const Real* parameters,
                                                             std::span<const double> traces, Workspace& work,
                                                             Real* gradient) const {
  const int d = dimension_;
  const int rows = count * model_.tokens;
  const int columns = student_.columns();
  const int pairs = model_.tokens * model_.tokens;
  draw(purpose, first, count, work);
  label(purpose, first, count, work);
  work.products.resize(static_cast<std::size_t>(rows) * columns);
  work.scores.resize(static_cast<std::size_t>(model_.score_count()) * count);
  work.slopes.resize(work.scores.size());
  work.losses.resize(static_cast<std::size_t>(count));
  gemm(CblasNoTrans, CblasNoTrans, rows, columns, d, Real{1}, work.tokens.data(), parameters, Real{0},
       work.products.data());
  student_.scores(count, work.tokens.data(), work.products.data(), work.scores.data());
  centre(student_.heads(), count, traces, work.scores.data());
  loss_and_gradient<double>(model_, count, work.scores.data(), work.teacher_scores.data(),
                            work.noise.empty() ? nullptr : work.noise.data(), work.losses.data(),
                            work.slopes.data());
  Sums sums;
  for (double loss : work.losses) {
    sums.loss += loss;
    sums.square_loss += loss * loss;
  }
  if (gradient == nullptr) return sums;

  sums.centre_slopes.assign(static_cast<std::size_t>(student_.heads()), 0.0);
  for (int k = 0; k < student_.heads(); ++k) {
    for (int pair = 0; pair < pairs; ++pair) {
      const double c = model_.covariance(pair / model_.tokens, pair % model_.tokens);
      if (c == 0) continue;
      const double* slope = work.slopes.data() + static_cast<std::ptrdiff_t>(k * pairs + pair) * count;
      double sum = 0;
      for (int s = 0; s < count; ++s) sum += slope[s];
      sums.centre_slopes[k] += c * sum;
    }
  }
  work.mixed.resize(work.products.size());
  student_.mix(count, work.slopes.data(), work.tokens.data(), work.products.data(), work.mixed.data());
  gemm(CblasTrans, CblasNoTrans, d, columns, rows, Real{1}, work.tokens.data(), work.mixed.data(), Real{0},
       gradient);
  return sums;
}

/// Independent tokens mixed by the square root of C.
template <class Real>
void OnlineBatch<Real>::draw(Purpose purpose, long first, int count, Workspace& work) const {
  const int tokens = model_.tokens;
  const std::size_t entries = static_cast<std::size_t>(tokens) * dimension_;
  work.tokens.resize(entries * count);
  draw_tokens(seed_, purpose, first, count, std::span<Real>(work.tokens));
  if (!correlated_) return;
  using Tokens = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Tokens mixing = mixing_.cast<Real>();
  for (int s = 0; s < count; ++s) {
    Eigen::Map<Tokens> x(work.tokens.data() + s * entries, tokens, dimension_);
    x = mixing.lazyProduct(x).eval();
  }
}

/// Scores of the teachers, and the noise on the labels.
template <class Real>
void OnlineBatch<Real>::label(Purpose purpose, long first, int count, Workspace& work) const {
  const int tokens = model_.tokens;
  const int rows = count * tokens;
  const std::size_t head_scores = static_cast<std::size_t>(tokens) * tokens * count;
  work.projections.resize(static_cast<std::size_t>(rows) * factor_columns_);
  gemm(CblasNoTrans, CblasNoTrans, rows, factor_columns_, dimension_, Real{1}, work.tokens.data(),
       factors_.data(), Real{0}, work.projections.data());
  work.teacher_scores.assign(head_scores * places_.size(), 0.0);
  work.part.resize(head_scores);
  for (std::size_t k = 0; k < places_.size(); ++k) {
    double* scores = work.teacher_scores.data() + k * head_scores;
    const auto add = [&](int first_column, int width, double sign) {
      if (width == 0) return;
      const Rows<const Real> projected{work.projections.data() + first_column, factor_columns_};
      row_scores<Real>({ScoreLayout::full, tokens, count, width}, projected, projected, 0, sign,
                       work.part.data());
      for (std::size_t i = 0; i < head_scores; ++i) scores[i] += work.part[i];
    };
    add(places_[k].first, places_[k].positive, 1);
    add(places_[k].first + places_[k].positive, places_[k].negative, -1);
  }
  centre(static_cast<int>(places_.size()), count, teacher_traces_, work.teacher_scores.data());

  work.noise.clear();
  if (model_.noise_out == 0) return;
  const std::uint64_t kind = purpose == Purpose::tokens ? 0 : measured_noise;
  const int outputs = model_.output_count();
  work.noise.resize(static_cast<std::size_t>(outputs) * count);
  for (int s = 0; s < count; ++s) {
    RandomStream stream(seed_, Purpose::noise_out, kind + static_cast<std::uint64_t>(first + s));
    for (int o = 0; o < outputs; ++o) work.noise[static_cast<std::size_t>(o) * count + s] = stream.normal();
  }
}

/// From x_i^T S_k x_j to G_ijk (10.1).
template <class Real>
void OnlineBatch<Real>::centre(int heads, int count, std::span<const double> traces, double* scores) const {
  const int tokens = model_.tokens;
  const double scale = 1 / std::sqrt(dimension_);
  for (int k = 0; k < heads; ++k) {
    for (int i = 0; i < tokens; ++i) {
      for (int j = 0; j < tokens; ++j, scores += count) {
        const double mean = model_.centred ? model_.covariance(i, j) * traces[k] : 0;
        for (int s = 0; s < count; ++s) scores[s] = scale * (scores[s] - mean);
      }
    }
  }
}

template class OnlineBatch<float>;
template class OnlineBatch<double>;

}  // namespace qklab::lab
