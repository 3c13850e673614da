#include "student.hpp"

#include <algorithm>
#include <cmath>

#include "lab/matrix/gemm.hpp"
#include "lab/matrix/triangle.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

double square_norm(std::span<const double> vector) {
  double sum = 0;
  for (double x : vector) sum += x * x;
  return sum;
}

/// S = W W^T: h_ab = (z_a . z_b - delta_ab |W|^2)/sqrt d, M_a = sum_b (1 + delta_ab) G_ab z_b.
template <class Real>
class Tied final : public Student<Real> {
 public:
  explicit Tied(const Problem& problem) : Student<Real>(problem, ScoreLayout::pairs) {}

  double trace(std::span<const double> weights) const override { return square_norm(weights); }

  double penalty(std::span<const double> weights) const override {
    return this->decay() * square_norm(weights);
  }

  void scores(int count, const Real* /*x*/, const Real* z, double trace, double* scores) const override {
    const Rows<const Real> rows{z, this->columns()};
    row_scores<Real>(this->block(count, this->columns()), rows, rows, trace, this->score_scale(), scores);
  }

  void mix(int count, const double* slopes, const Real* /*x*/, const Real* z, Real* mixed) const override {
    const int width = this->columns();
    mix_rows<Real>(this->block(count, width), Factor::left, slopes, {z, width}, {mixed, width});
  }

  void finish(std::span<const double> weights, double scale, double trace_slope,
              std::span<double> gradient) const override {
    const double shrinkage = 2 * this->decay() - 2 * scale * trace_slope;
    for (std::size_t i = 0; i < weights.size(); ++i)
      gradient[i] = scale * gradient[i] + shrinkage * weights[i];
  }
};

/// S = (P + P^T)/2 = U + U^T, U upper triangular: h_ab = (x_a . z_b + z_a . x_b - delta_ab Tr S)/sqrt d with
/// Z = X U, M_a = sum_b (1 + delta_ab) G_ab x_b, and the gradient in S is (X^T M)/2, symmetric: both products
/// are half done.
template <class Real>
class Direct final : public Student<Real> {
 public:
  explicit Direct(const Problem& problem) : Student<Real>(problem, ScoreLayout::pairs) {}

  void load(std::span<const double> parameters, std::span<Real> matrix) const override {
    Matrix upper = symmetric_part(square(parameters)).template triangularView<Eigen::Upper>();
    upper.diagonal() /= 2;
    Student<Real>::load({upper.data(), static_cast<std::size_t>(upper.size())}, matrix);
  }

  double trace(std::span<const double> parameters) const override { return square(parameters).trace(); }

  double penalty(std::span<const double> parameters) const override {
    return this->decay() * symmetric_part(square(parameters)).squaredNorm();
  }

  void project(int rows, const Real* x, const Real* matrix, Real* z) const override {
    multiply_by_upper(rows, this->dimension(), x, matrix, z);
  }

  void gather(int rows, const Real* x, const Real* mixed, Real beta, Real* product) const override {
    upper_of_product(rows, this->dimension(), x, mixed, beta, product);
  }

  void scores(int count, const Real* x, const Real* z, double trace, double* scores) const override {
    const int d = this->dimension();
    symmetric_row_scores<Real>(this->block(count, d), {x, d}, {z, d}, trace, this->score_scale(), scores);
  }

  void mix(int count, const double* slopes, const Real* x, const Real* /*z*/, Real* mixed) const override {
    const int d = this->dimension();
    mix_rows<Real>(this->block(count, d), Factor::left, slopes, {x, d}, {mixed, d});
  }

  void finish(std::span<const double> parameters, double scale, double trace_slope,
              std::span<double> gradient) const override {
    const int d = this->dimension();
    Eigen::Map<Matrix> result(gradient.data(), d, d);
    const Matrix product = result.template selfadjointView<Eigen::Upper>();
    result = scale / 2 * product + 2 * this->decay() * symmetric_part(square(parameters));
    result.diagonal().array() -= scale * trace_slope;
  }

 private:
  Eigen::Map<const Matrix> square(std::span<const double> entries) const {
    return {entries.data(), this->dimension(), this->dimension()};
  }
};

/// S = U V^T, P = [U V], z = (u, v): h_ab = (u_a . v_b - delta_ab Tr S)/sqrt d for every ordered pair,
/// M_a = (sum_b G_ab v_b, sum_b G_ba u_b).
template <class Real>
class Untied final : public Student<Real> {
 public:
  explicit Untied(const Problem& problem) : Student<Real>(problem, ScoreLayout::full) {}

  double trace(std::span<const double> factors) const override {
    const auto p = static_cast<std::size_t>(width());
    double sum = 0;
    for (std::size_t row = 0; row < factors.size(); row += 2 * p) {
      for (std::size_t k = row; k < row + p; ++k) sum += factors[k] * factors[k + p];
    }
    return sum;
  }

  double penalty(std::span<const double> factors) const override {
    return this->decay() / 2 * square_norm(factors);
  }

  void scores(int count, const Real* /*x*/, const Real* z, double trace, double* scores) const override {
    row_scores<Real>(this->block(count, width()), u(z), v(z), trace, this->score_scale(), scores);
  }

  void mix(int count, const double* slopes, const Real* /*x*/, const Real* z, Real* mixed) const override {
    const int stride = this->columns();
    mix_rows<Real>(this->block(count, width()), Factor::left, slopes, v(z), {mixed, stride});
    mix_rows<Real>(this->block(count, width()), Factor::right, slopes, u(z), {mixed + width(), stride});
  }

  void finish(std::span<const double> factors, double scale, double trace_slope,
              std::span<double> gradient) const override {
    const auto p = static_cast<std::size_t>(width());
    for (std::size_t row = 0; row < factors.size(); row += 2 * p) {
      for (std::size_t k = row; k < row + 2 * p; ++k) {
        const double partner = factors[k < row + p ? k + p : k - p];
        gradient[k] = scale * (gradient[k] - trace_slope * partner) + this->decay() * factors[k];
      }
    }
  }

 private:
  int width() const { return this->columns() / 2; }
  Rows<const Real> u(const Real* z) const { return {z, this->columns()}; }
  Rows<const Real> v(const Real* z) const { return {z + width(), this->columns()}; }
};

}  // namespace

template <class Real>
Student<Real>::Student(const Problem& problem, ScoreLayout layout)
    : layout_(layout),
      dimension_(problem.dimension),
      tokens_(problem.tokens),
      columns_(parameter_columns(problem)),
      score_scale_(1 / std::sqrt(problem.dimension)),
      decay_(problem.lambda / problem.dimension) {}

template <class Real>
void Student<Real>::load(std::span<const double> parameters, std::span<Real> matrix) const {
  std::transform(parameters.begin(), parameters.end(), matrix.begin(),
                 [](double entry) { return static_cast<Real>(entry); });
}

template <class Real>
void Student<Real>::project(int rows, const Real* x, const Real* matrix, Real* z) const {
  gemm(CblasNoTrans, CblasNoTrans, rows, columns_, dimension_, Real{1}, x, matrix, Real{0}, z);
}

template <class Real>
void Student<Real>::gather(int rows, const Real* x, const Real* mixed, Real beta, Real* product) const {
  gemm(CblasTrans, CblasNoTrans, dimension_, columns_, rows, Real{1}, x, mixed, beta, product);
}

template <class Real>
std::shared_ptr<const Student<Real>> make_student(const Problem& problem) {
  switch (problem.parametrization) {
    case Parametrization::tied:
      return std::make_shared<Tied<Real>>(problem);
    case Parametrization::direct:
      return std::make_shared<Direct<Real>>(problem);
    case Parametrization::untied:
      return std::make_shared<Untied<Real>>(problem);
  }
  throw InvalidParameter("parametrization", "unknown", "must be one of tied, direct, untied");
}

template class Student<float>;
template class Student<double>;
template std::shared_ptr<const Student<float>> make_student(const Problem&);
template std::shared_ptr<const Student<double>> make_student(const Problem&);

}  // namespace qklab::lab
