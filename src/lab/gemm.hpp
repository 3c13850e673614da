#pragma once

#include <cblas.h>

namespace qklab::lab {

/// c = alpha op(a) op(b) + beta c for row-major a, b, c; op(a) is rows x inner, op(b) inner x columns. The
/// leading dimensions are those of densely stored matrices.
inline void gemm(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int rows, int columns, int inner, float alpha,
                 const float* a, const float* b, float beta, float* c) {
  cblas_sgemm(CblasRowMajor, op_a, op_b, rows, columns, inner, alpha, a, op_a == CblasNoTrans ? inner : rows,
              b, op_b == CblasNoTrans ? columns : inner, beta, c, columns);
}

inline void gemm(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int rows, int columns, int inner, double alpha,
                 const double* a, const double* b, double beta, double* c) {
  cblas_dgemm(CblasRowMajor, op_a, op_b, rows, columns, inner, alpha, a, op_a == CblasNoTrans ? inner : rows,
              b, op_b == CblasNoTrans ? columns : inner, beta, c, columns);
}

}  // namespace qklab::lab
