#include "singular_values.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "qklab/core/error.hpp"

extern "C" void dgesdd_(const char* job, const int* rows, const int* columns, double* a, const int* lda,
                        double* values, double* left, const int* ldu, double* right_transposed,
                        const int* ldvt, double* work, const int* lwork, int* iwork, int* info);

namespace qklab::theory {
namespace {

/// False where LAPACK did not converge.
bool decompose(const char* job, Eigen::MatrixXd& matrix, SingularVectors& result) {
  const auto d = static_cast<int>(matrix.rows());
  const int leading = std::max(1, static_cast<int>(result.left.rows()));
  std::vector<int> iwork(8 * static_cast<std::size_t>(d));
  double wanted = 0;
  int lwork = -1;
  int info = 0;
  const auto call = [&](double* work) {
    dgesdd_(job, &d, &d, matrix.data(), &d, result.values.data(), result.left.data(), &leading,
            result.right_transposed.data(), &leading, work, &lwork, iwork.data(), &info);
  };
  call(&wanted);
  lwork = static_cast<int>(wanted);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  call(work.data());
  return info == 0;
}

}  // namespace

std::optional<SingularVectors> singular_vectors(Eigen::MatrixXd matrix) {
  const Eigen::Index d = matrix.rows();
  SingularVectors result{Eigen::MatrixXd(d, d), Eigen::VectorXd(d), Eigen::MatrixXd(d, d)};
  return decompose("A", matrix, result) ? std::optional(std::move(result)) : std::nullopt;
}

double largest_singular_value(Eigen::MatrixXd matrix) {
  SingularVectors result{Eigen::MatrixXd(1, 1), Eigen::VectorXd(matrix.rows()), Eigen::MatrixXd(1, 1)};
  if (!decompose("N", matrix, result)) throw Error("singular values: LAPACK dgesdd did not converge");
  return result.values[0];
}

}  // namespace qklab::theory
