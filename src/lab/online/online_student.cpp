#include "online_student.hpp"

#include <algorithm>
#include <cmath>

#include "lab/matrix/gemm.hpp"
#include "lab/matrix/serial_blas.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

/// S = W W^T: the score is z_i . z_j, and M_i = sum_j (g_ij + g_ji) z_j.
template <class Real>
class TiedStudent final : public OnlineStudent<Real> {
 public:
  TiedStudent(int dimension, int tokens, int heads, int width)
      : OnlineStudent<Real>(dimension, tokens, heads, width) {}

  Matrix matrix(const Matrix& parameters, int head) const override {
    return product_with_transpose(weights(parameters, head));
  }

  double trace(const Matrix& parameters, int head) const override {
    return weights(parameters, head).squaredNorm();
  }

  double factor_norm(const Matrix& parameters, int head) const override { return trace(parameters, head); }

  void scores(int count, const Real* /*x*/, const Real* z, double* scores) const override {
    for (int k = 0; k < this->heads(); ++k) {
      const Rows<const Real> rows{z + k * width(), this->columns()};
      row_scores<Real>(this->block(count, width()), rows, rows, 0, 1, this->of_head(scores, k, count));
    }
  }

  void mix(int count, double* slopes, const Real* /*x*/, const Real* z, Real* mixed) const override {
    for (int k = 0; k < this->heads(); ++k) {
      double* g = this->of_head(slopes, k, count);
      add_transpose(count, g);
      mix_rows<Real>(this->block(count, width()), Factor::left, g, {z + k * width(), this->columns()},
                     {mixed + k * width(), this->columns()});
    }
  }

  void add_trace_gradient(int /*row*/, std::span<const double> parameters, std::span<const double> weights,
                          std::span<double> gradient) const override {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] += 2 * weights[i / width()] * parameters[i];
    }
  }

 private:
  int width() const { return this->head_columns(); }
  Matrix weights(const Matrix& parameters, int head) const {
    return parameters.middleCols(static_cast<Eigen::Index>(head) * width(), width());
  }
  /// g + g^T of every sample.
  void add_transpose(int count, double* g) const {
    const int tokens = this->tokens();
    for (int i = 0; i < tokens; ++i) {
      for (int j = i; j < tokens; ++j) {
        double* upper = g + (i * tokens + j) * count;
        double* lower = g + (j * tokens + i) * count;
        for (int s = 0; s < count; ++s) upper[s] = lower[s] = upper[s] + lower[s];
      }
    }
  }
};

/// S itself: the score is z_i . x_j with Z = X S, and M_i = sum_j g_ij x_j.
template <class Real>
class DirectStudent final : public OnlineStudent<Real> {
 public:
  DirectStudent(int dimension, int tokens, int heads)
      : OnlineStudent<Real>(dimension, tokens, heads, dimension) {}

  Matrix matrix(const Matrix& parameters, int head) const override {
    return parameters.middleCols(static_cast<Eigen::Index>(head) * this->dimension(), this->dimension());
  }

  double trace(const Matrix& parameters, int head) const override {
    const int d = this->dimension();
    return parameters.middleCols(static_cast<Eigen::Index>(head) * d, d).trace();
  }

  double factor_norm(const Matrix& /*parameters*/, int /*head*/) const override { return 0; }

  void scores(int count, const Real* x, const Real* z, double* scores) const override {
    const int d = this->dimension();
    for (int k = 0; k < this->heads(); ++k) {
      row_scores<Real>(this->block(count, d), {z + k * d, this->columns()}, {x, d}, 0, 1,
                       this->of_head(scores, k, count));
    }
  }

  void mix(int count, double* slopes, const Real* x, const Real* /*z*/, Real* mixed) const override {
    const int d = this->dimension();
    for (int k = 0; k < this->heads(); ++k) {
      mix_rows<Real>(this->block(count, d), Factor::left, this->of_head(slopes, k, count), {x, d},
                     {mixed + k * d, this->columns()});
    }
  }

  void add_trace_gradient(int row, std::span<const double> /*parameters*/, std::span<const double> weights,
                          std::span<double> gradient) const override {
    for (int k = 0; k < this->heads(); ++k) gradient[k * this->dimension() + row] += weights[k];
  }
};

/// S = U V^T, z = (u, v): the score is u_i . v_j, and M_i = (sum_j g_ij v_j, sum_j g_ji u_j).
template <class Real>
class UntiedStudent final : public OnlineStudent<Real> {
 public:
  UntiedStudent(int dimension, int tokens, int heads, int width)
      : OnlineStudent<Real>(dimension, tokens, heads, 2 * width) {}

  Matrix matrix(const Matrix& parameters, int head) const override {
    const SerialBlas serial;
    const int d = this->dimension();
    const Matrix u = left(parameters, head);
    const Matrix v = right(parameters, head);
    Matrix product(d, d);
    gemm(CblasNoTrans, CblasTrans, d, d, width(), 1.0, u.data(), v.data(), 0.0, product.data());
    return product;
  }

  double trace(const Matrix& parameters, int head) const override {
    return left(parameters, head).cwiseProduct(right(parameters, head)).sum();
  }

  double factor_norm(const Matrix& parameters, int head) const override {
    return (left(parameters, head).squaredNorm() + right(parameters, head).squaredNorm()) / 2;
  }

  void scores(int count, const Real* /*x*/, const Real* z, double* scores) const override {
    for (int k = 0; k < this->heads(); ++k) {
      row_scores<Real>(this->block(count, width()), u(z, k), v(z, k), 0, 1, this->of_head(scores, k, count));
    }
  }

  void mix(int count, double* slopes, const Real* /*x*/, const Real* z, Real* mixed) const override {
    for (int k = 0; k < this->heads(); ++k) {
      const double* g = this->of_head(slopes, k, count);
      const RowBlock block = this->block(count, width());
      Real* first = mixed + k * this->head_columns();
      mix_rows<Real>(block, Factor::left, g, v(z, k), {first, this->columns()});
      mix_rows<Real>(block, Factor::right, g, u(z, k), {first + width(), this->columns()});
    }
  }

  void add_trace_gradient(int /*row*/, std::span<const double> parameters, std::span<const double> weights,
                          std::span<double> gradient) const override {
    const auto p = static_cast<std::size_t>(width());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const bool in_left = i % (2 * p) < p;
      gradient[i] += weights[i / (2 * p)] * parameters[in_left ? i + p : i - p];
    }
  }

 private:
  int width() const { return this->head_columns() / 2; }
  Rows<const Real> u(const Real* z, int head) const {
    return {z + head * this->head_columns(), this->columns()};
  }
  Rows<const Real> v(const Real* z, int head) const {
    return {z + head * this->head_columns() + width(), this->columns()};
  }
  Matrix left(const Matrix& parameters, int head) const {
    return parameters.middleCols(static_cast<Eigen::Index>(head) * this->head_columns(), width());
  }
  Matrix right(const Matrix& parameters, int head) const {
    return parameters.middleCols(static_cast<Eigen::Index>(head) * this->head_columns() + width(), width());
  }
};

Matrix gaussian(int rows, int columns, double variance, std::uint64_t seed) {
  Matrix result(rows, columns);
  for (int i = 0; i < rows; ++i) {
    RandomStream stream(seed, Purpose::student, static_cast<std::uint64_t>(i));
    stream.fill_normal(std::span<double>(result.row(i).data(), static_cast<std::size_t>(columns)));
  }
  return result * std::sqrt(variance);
}

}  // namespace

template <class Real>
std::shared_ptr<const OnlineStudent<Real>> make_online_student(Parametrization parametrization, int dimension,
                                                               int tokens, int heads, int width) {
  switch (parametrization) {
    case Parametrization::tied:
      return std::make_shared<TiedStudent<Real>>(dimension, tokens, heads, width);
    case Parametrization::direct:
      return std::make_shared<DirectStudent<Real>>(dimension, tokens, heads);
    case Parametrization::untied:
      return std::make_shared<UntiedStudent<Real>>(dimension, tokens, heads, width);
  }
  throw InvalidParameter("parametrization", "unknown", "must be one of tied, direct, untied");
}

int online_width(const OnlineSgdOptions& options, int dimension) {
  return std::max(1, static_cast<int>(std::lround(options.kappa * dimension)));
}

Matrix online_start(const OnlineSgdOptions& options, int dimension, int heads, std::uint64_t seed) {
  const int width = online_width(options, dimension);
  const double variance = options.start / width;
  if (options.parametrization == Parametrization::untied) {
    return gaussian(dimension, 2 * width * heads, variance, seed);
  }
  if (options.parametrization == Parametrization::direct && options.direct_start == DirectStart::gaussian) {
    // E Tr(S S^T)/d is v (d + 1)/2 here and start^2 (p + d + 1)/p for the product.
    const double d = dimension;
    const double square = options.start * options.start * (width + d + 1) / width;
    Matrix start = gaussian(dimension, dimension * heads, 2 * square / (d + 1), seed);
    for (int k = 0; k < heads; ++k) {
      auto block = start.middleCols(static_cast<Eigen::Index>(k) * dimension, dimension);
      block = symmetric_part(block);
    }
    return start;
  }
  Matrix weights = gaussian(dimension, width * heads, variance, seed);
  if (options.parametrization == Parametrization::tied) return weights;
  Matrix start(dimension, dimension * heads);
  for (int k = 0; k < heads; ++k) {
    start.middleCols(static_cast<Eigen::Index>(k) * dimension, dimension) =
        product_with_transpose(weights.middleCols(static_cast<Eigen::Index>(k) * width, width));
  }
  return start;
}

template std::shared_ptr<const OnlineStudent<float>> make_online_student(Parametrization, int, int, int, int);
template std::shared_ptr<const OnlineStudent<double>> make_online_student(Parametrization, int, int, int,
                                                                          int);

}  // namespace qklab::lab
