#pragma once

#include <algorithm>

#include "gemm.hpp"

namespace qklab::lab {

/// Products of which one triangle is zero or not wanted go by strips of columns, each without its rows below
/// the diagonal: (1 + strip/d)/2 of the flops. Narrower strips starve the matrix products.
constexpr int strip = 48;

/// z = x u for an upper triangular d x d matrix u; x and z have `rows` rows of d.
template <class Real>
void multiply_by_upper(int rows, int d, const Real* x, const Real* u, Real* z) {
  for (int first = 0; first < d; first += strip) {
    const int end = std::min(first + strip, d);
    gemm(CblasNoTrans, CblasNoTrans, rows, end - first, end, Real{1}, {x, d}, {u + first, d}, Real{0},
         {z + first, d});
  }
}

/// The upper triangle of c = x^T y + beta c, d x d; what is below the diagonal is left with no meaning.
template <class Real>
void upper_of_product(int rows, int d, const Real* x, const Real* y, Real beta, Real* c) {
  for (int first = 0; first < d; first += strip) {
    const int end = std::min(first + strip, d);
    gemm(CblasTrans, CblasNoTrans, end, end - first, rows, Real{1}, {x, d}, {y + first, d}, beta,
         {c + first, d});
  }
}

}  // namespace qklab::lab
