#include "qklab/lab/student/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "lab/matrix/gemm.hpp"
#include "lab/matrix/serial_blas.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

Matrix product_of_factors(const Matrix& factors);
double entry_variance(const Problem& problem);

}  // namespace

int parameter_columns(const Problem& problem) {
  switch (problem.parametrization) {
    case Parametrization::tied:
      return student_width(problem);
    case Parametrization::direct:
      return problem.dimension;
    case Parametrization::untied:
      return 2 * student_width(problem);
  }
  throw InvalidParameter("parametrization", "unknown", "must be one of tied, direct, untied");
}

double parameter_count(const Problem& problem) {
  const double d = problem.dimension;
  if (problem.parametrization == Parametrization::direct) return d * d;
  const double factors = problem.parametrization == Parametrization::untied ? 2 : 1;
  return factors * d * std::max(1.0, std::round(problem.kappa * d));
}

Matrix student_matrix(const Problem& problem, const Matrix& parameters) {
  if (problem.parametrization == Parametrization::tied) return product_with_transpose(parameters);
  if (problem.parametrization == Parametrization::direct) return symmetric_part(parameters);
  return product_of_factors(parameters);
}

Matrix parameters_of(const Problem& problem, const Matrix& student) {
  if (problem.parametrization == Parametrization::direct) return student;
  const bool untied = problem.parametrization == Parametrization::untied;
  const int p = student_width(problem);
  const Modes modes = symmetric_modes(symmetric_part(student));
  std::vector<int> order(modes.values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int i) { return untied ? std::abs(modes.values[i]) : modes.values[i]; };
  std::ranges::stable_sort(order, std::ranges::greater{}, size);
  Matrix parameters = Matrix::Zero(problem.dimension, parameter_columns(problem));
  for (int k = 0; k < std::min(p, problem.dimension); ++k) {
    const int i = order[k];
    if (size(i) <= 0) break;
    parameters.col(k) = std::sqrt(size(i)) * modes.vectors.col(i);
    if (untied) parameters.col(p + k) = std::copysign(1.0, modes.values[i]) * parameters.col(k);
  }
  return parameters;
}

Matrix random_start(const Problem& problem, std::uint64_t seed) {
  Matrix start(problem.dimension, parameter_columns(problem));
  RandomStream stream(seed, Purpose::student);
  stream.fill_normal(std::span<double>(start.data(), static_cast<std::size_t>(start.size())));
  start *= std::sqrt(entry_variance(problem));
  return problem.parametrization == Parametrization::direct ? symmetric_part(start) : start;
}

namespace {

Matrix product_of_factors(const Matrix& factors) {
  const SerialBlas serial;
  const int d = static_cast<int>(factors.rows());
  const int p = static_cast<int>(factors.cols()) / 2;
  const Matrix u = factors.leftCols(p);
  const Matrix v_transposed = factors.rightCols(p).transpose();
  Matrix product(d, d);
  gemm(CblasNoTrans, CblasNoTrans, d, d, p, 1.0, u.data(), v_transposed.data(), 0.0, product.data());
  return product;
}

/// v with E Tr(S S^T)/d = Q0 for iid N(0, v) entries of P: v^2 p (p + d + 1) = Q0 (tied), v (d + 1)/2 = Q0
/// (direct), v^2 d p = Q0 (untied).
double entry_variance(const Problem& problem) {
  const double q0 = teacher_self_overlap(problem);
  const double d = problem.dimension;
  const double p = student_width(problem);
  switch (problem.parametrization) {
    case Parametrization::tied:
      return std::sqrt(q0 / (p * (p + d + 1)));
    case Parametrization::direct:
      return 2 * q0 / (d + 1);
    case Parametrization::untied:
      return std::sqrt(q0 / (d * p));
  }
  throw InvalidParameter("parametrization", "unknown", "must be one of tied, direct, untied");
}

}  // namespace
}  // namespace qklab::lab
