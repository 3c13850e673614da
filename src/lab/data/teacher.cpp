#include "qklab/lab/data/teacher.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/matrix/serial_blas.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/matrix/measure.hpp"

extern "C" {
void dgeqrf_(const int* rows, const int* columns, double* a, const int* lda, double* tau, double* work,
             const int* lwork, int* info);
void dorgqr_(const int* rows, const int* columns, const int* reflectors, double* a, const int* lda,
             const double* tau, double* work, const int* lwork, int* info);
}

namespace qklab::lab {
namespace {

Matrix factor(const WishartTeacher& teacher, int dimension, std::uint64_t seed);
Matrix factor(const PowerLawTeacher& teacher, int dimension, std::uint64_t seed);
Matrix factor(const SpectrumTeacher& teacher, int dimension, std::uint64_t seed);
Matrix rotated_factor(const std::vector<double>& eigenvalues, std::uint64_t seed);
Matrix random_eigenbasis(int dimension, std::uint64_t seed);
Matrix gaussian(int rows, int columns, std::uint64_t seed);

}  // namespace

Matrix draw_teacher(const Problem& problem, std::uint64_t seed) {
  return product_with_transpose(std::visit(
      [&](const auto& teacher) { return factor(teacher, problem.dimension, seed); }, problem.teacher));
}

namespace {

Matrix factor(const WishartTeacher& teacher, int dimension, std::uint64_t seed) {
  const int rank = std::max(1, static_cast<int>(std::lround(teacher.kappa0 * dimension)));
  return gaussian(dimension, rank, seed) / std::pow(static_cast<double>(rank) * dimension, 0.25);
}

Matrix factor(const PowerLawTeacher& teacher, int dimension, std::uint64_t seed) {
  return rotated_factor(power_law_eigenvalues(teacher, dimension), seed);
}

Matrix factor(const SpectrumTeacher& teacher, int dimension, std::uint64_t seed) {
  if (std::ssize(teacher.eigenvalues) != dimension) {
    throw InvalidParameter("dimension", dimension,
                           "a spectrum teacher fixes it to its number of eigenvalues, " +
                               std::to_string(teacher.eigenvalues.size()));
  }
  return rotated_factor(teacher.eigenvalues, seed);
}

/// Q diag(sqrt s), so that its product with its transpose is Q diag(s) Q^T.
Matrix rotated_factor(const std::vector<double>& eigenvalues, std::uint64_t seed) {
  Matrix result = random_eigenbasis(static_cast<int>(eigenvalues.size()), seed);
  for (std::size_t i = 0; i < eigenvalues.size(); ++i) result.col(i) *= std::sqrt(eigenvalues[i]);
  return result;
}

/// The orthogonal factor of a Gaussian matrix (Mezzadri, Notices AMS 54, 2007). The signs of its columns,
/// which decide whether it is Haar-distributed, drop out of Q diag(s) Q^T.
Matrix random_eigenbasis(int dimension, std::uint64_t seed) {
  const SerialBlas serial;
  Eigen::MatrixXd a = gaussian(dimension, dimension, seed);
  std::vector<double> tau(static_cast<std::size_t>(dimension));
  const int lwork = 64 * dimension;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  int info = 0;
  dgeqrf_(&dimension, &dimension, a.data(), &dimension, tau.data(), work.data(), &lwork, &info);
  dorgqr_(&dimension, &dimension, &dimension, a.data(), &dimension, tau.data(), work.data(), &lwork, &info);
  return a;
}

Matrix gaussian(int rows, int columns, std::uint64_t seed) {
  Matrix result(rows, columns);
  for (int i = 0; i < rows; ++i) {
    RandomStream stream(seed, Purpose::teacher, static_cast<std::uint64_t>(i));
    stream.fill_normal(std::span<double>(result.row(i).data(), static_cast<std::size_t>(columns)));
  }
  return result;
}

}  // namespace
}  // namespace qklab::lab
