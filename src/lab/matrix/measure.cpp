#include "qklab/lab/matrix/measure.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "qklab/core/error.hpp"
#include "serial_blas.hpp"

extern "C" {
void dsyevd_(const char* job, const char* triangle, const int* n, double* a, const int* lda,
             double* eigenvalues, double* work, const int* lwork, int* iwork, const int* liwork, int* info);
void dsyevr_(const char* job, const char* range, const char* triangle, const int* n, double* a,
             const int* lda, const double* lowest, const double* highest, const int* first, const int* last,
             const double* tolerance, int* found, double* eigenvalues, double* vectors, const int* ldz,
             int* support, double* work, const int* lwork, int* iwork, const int* liwork, int* info);
void dgesdd_(const char* job, const int* rows, const int* columns, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork,
             int* iwork, int* info);
}

namespace qklab::lab {
namespace {

void require_finite(const Matrix& matrix, const char* what);

/// The same by relatively robust representations (LAPACK dsyevr), where divide and conquer failed.
Modes modes_by_representations(const Matrix& matrix);

}  // namespace

Matrix product_with_transpose(const Matrix& factor) {
  const SerialBlas serial;
  const int d = static_cast<int>(factor.rows());
  const int p = static_cast<int>(factor.cols());
  Matrix product(d, d);
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, d, p, 1.0, factor.data(), p, 0.0, product.data(), d);
  product.triangularView<Eigen::StrictlyUpper>() = product.transpose();
  return product;
}

Matrix symmetric_part(const Eigen::Ref<const Matrix>& matrix) {
  return (matrix + matrix.transpose()) / 2;
}

double overlap(const Matrix& left, const Matrix& right) {
  return left.cwiseProduct(right).sum() / static_cast<double>(left.rows());
}

Modes symmetric_modes(const Matrix& matrix) {
  require_finite(matrix, "eigenvalues");
  const SerialBlas serial;
  const int n = static_cast<int>(matrix.rows());
  Modes modes{std::vector<double>(static_cast<std::size_t>(n)), matrix};
  const int lwork = 1 + 6 * n + 2 * n * n;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  const int liwork = 3 + 5 * n;
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  int info = 0;
  dsyevd_("V", "L", &n, modes.vectors.data(), &n, modes.values.data(), work.data(), &lwork, iwork.data(),
          &liwork, &info);
  return info == 0 ? modes : modes_by_representations(matrix);
}

std::vector<double> singular_values(const Matrix& matrix) {
  require_finite(matrix, "singular values");
  const SerialBlas serial;
  const int n = static_cast<int>(matrix.rows());
  Matrix overwritten = matrix;
  std::vector<double> values(static_cast<std::size_t>(n));
  const int lwork = 68 * n + 64;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(8 * values.size());
  const int one = 1;
  double unused = 0;
  int info = 0;
  dgesdd_("N", &n, &n, overwritten.data(), &n, values.data(), &unused, &one, &unused, &one, work.data(),
          &lwork, iwork.data(), &info);
  if (info != 0) throw Error("singular values: LAPACK dgesdd did not converge");
  std::ranges::reverse(values);
  return values;
}

std::vector<double> alignments(const Modes& left, const Modes& right) {
  std::vector<double> result(left.values.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double cosine = left.vectors.col(i).dot(right.vectors.col(i));
    result[i] = cosine * cosine;
  }
  return result;
}

std::vector<double> levels(const Matrix& matrix, const Modes& modes) {
  const SerialBlas serial;
  const int n = static_cast<int>(matrix.rows());
  const Eigen::MatrixXd columns = matrix;
  Eigen::MatrixXd image(n, n);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, columns.data(), n,
              modes.vectors.data(), n, 0.0, image.data(), n);
  std::vector<double> result(modes.values.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = modes.vectors.col(i).dot(image.col(i));
  return result;
}

double zero_fraction(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return 1;
  const auto zeros =
      std::ranges::count_if(values, [&](double value) { return std::abs(value) < 1e-3 * largest; });
  return static_cast<double>(zeros) / static_cast<double>(values.size());
}

namespace {

void require_finite(const Matrix& matrix, const char* what) {
  if (!matrix.allFinite()) throw Error(std::string(what) + ": the matrix holds entries that are not finite");
}

Modes modes_by_representations(const Matrix& matrix) {
  const int n = static_cast<int>(matrix.rows());
  Matrix overwritten = matrix;
  Modes modes{std::vector<double>(static_cast<std::size_t>(n)), Eigen::MatrixXd(n, n)};
  std::vector<int> support(2 * modes.values.size());
  const int lwork = 64 * n;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  const int liwork = 10 * n;
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  const double unused = 0;
  const int none = 0;
  int found = 0;
  int info = 0;
  dsyevr_("V", "A", "L", &n, overwritten.data(), &n, &unused, &unused, &none, &none, &unused, &found,
          modes.values.data(), modes.vectors.data(), &n, support.data(), work.data(), &lwork, iwork.data(),
          &liwork, &info);
  if (info != 0 || found != n) throw Error("eigenvalues: LAPACK dsyevd and dsyevr did not converge");
  return modes;
}

}  // namespace
}  // namespace qklab::lab
