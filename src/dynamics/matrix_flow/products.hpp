#pragma once

#include <cblas.h>

#include <Eigen/Core>

namespace qklab::dynamics {

/// c = alpha op(a) op(b) + beta c by BLAS; `c` has its shape already.
inline void multiply(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, double alpha, const Eigen::MatrixXd& a,
                     const Eigen::MatrixXd& b, double beta, Eigen::MatrixXd& c) {
  const auto inner = static_cast<int>(op_a == CblasNoTrans ? a.cols() : a.rows());
  cblas_dgemm(CblasColMajor, op_a, op_b, static_cast<int>(c.rows()), static_cast<int>(c.cols()), inner, alpha,
              a.data(), static_cast<int>(a.rows()), b.data(), static_cast<int>(b.rows()), beta, c.data(),
              static_cast<int>(c.rows()));
}

/// op(a) op(b)
inline Eigen::MatrixXd product(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, const Eigen::MatrixXd& a,
                               const Eigen::MatrixXd& b) {
  Eigen::MatrixXd c(op_a == CblasNoTrans ? a.rows() : a.cols(), op_b == CblasNoTrans ? b.cols() : b.rows());
  multiply(op_a, op_b, 1, a, b, 0, c);
  return c;
}

}  // namespace qklab::dynamics
