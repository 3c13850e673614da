#pragma once

#include <cblas.h>

#include <type_traits>

namespace qklab::lab {

/// A row-major matrix; its rows begin `stride` entries apart.
template <class Real>
struct Strided {
  Real* entries;
  int stride;
};

/// c = alpha op(a) op(b) + beta c; op(a) is rows x inner, op(b) inner x columns.
template <class Real>
void gemm(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int rows, int columns, int inner, Real alpha,
          std::type_identity_t<Strided<const Real>> a, std::type_identity_t<Strided<const Real>> b, Real beta,
          std::type_identity_t<Strided<Real>> c) {
  if constexpr (std::is_same_v<Real, float>) {
    cblas_sgemm(CblasRowMajor, op_a, op_b, rows, columns, inner, alpha, a.entries, a.stride, b.entries,
                b.stride, beta, c.entries, c.stride);
  } else {
    cblas_dgemm(CblasRowMajor, op_a, op_b, rows, columns, inner, alpha, a.entries, a.stride, b.entries,
                b.stride, beta, c.entries, c.stride);
  }
}

/// The same for densely stored matrices.
template <class Real>
void gemm(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int rows, int columns, int inner, Real alpha,
          const Real* a, const Real* b, Real beta, Real* c) {
  gemm(op_a, op_b, rows, columns, inner, alpha, {a, op_a == CblasNoTrans ? inner : rows},
       {b, op_b == CblasNoTrans ? columns : inner}, beta, {c, columns});
}

}  // namespace qklab::lab
