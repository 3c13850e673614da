#pragma once

#include <memory>
#include <span>

#include "lab/matrix/row_kernels.hpp"
#include "qklab/lab/online/online_sgd.hpp"

namespace qklab::lab {

/// K students of one parametrization, their parameters side by side in P, d x columns: head k has columns k c
/// .. (k + 1) c - 1, c = p (tied, W_k), d (direct, S_k, not kept symmetric) or 2 p (untied, [U_k V_k]).
///
/// Blocks of samples come with the products Z = X P, a row of columns() entries a token; scores and slopes
/// have a row of `count` values for each ordered pair and head, (k T + i) T + j.
template <class Real>
class OnlineStudent {
 public:
  OnlineStudent(int dimension, int tokens, int heads, int head_columns)
      : dimension_(dimension), tokens_(tokens), heads_(heads), head_columns_(head_columns) {}
  virtual ~OnlineStudent() = default;

  int columns() const { return heads_ * head_columns_; }
  int heads() const { return heads_; }

  /// S_k.
  virtual Matrix matrix(const Matrix& parameters, int head) const = 0;
  /// Tr S_k.
  virtual double trace(const Matrix& parameters, int head) const = 0;
  /// Tr(U_k U_k^T + V_k V_k^T)/2, Tr S_k (tied), 0 (direct).
  virtual double factor_norm(const Matrix& parameters, int head) const = 0;

  /// x_i^T S_k x_j.
  virtual void scores(int count, const Real* x, const Real* z, double* scores) const = 0;
  /// M, so that the gradient of sum g_ijk x_i^T S_k x_j in P is X^T M. Overwrites the slopes g.
  virtual void mix(int count, double* slopes, const Real* x, const Real* z, Real* mixed) const = 0;
  /// Adds the gradient of sum_k weights[k] Tr S_k in row `row` of P.
  virtual void add_trace_gradient(int row, std::span<const double> parameters,
                                  std::span<const double> weights, std::span<double> gradient) const = 0;

 protected:
  RowBlock block(int count, int width) const { return {ScoreLayout::full, tokens_, count, width}; }
  int dimension() const { return dimension_; }
  int tokens() const { return tokens_; }
  int head_columns() const { return head_columns_; }
  /// Scores or slopes of one head.
  template <class T>
  T* of_head(T* rows, int head, int count) const {
    return rows + static_cast<std::ptrdiff_t>(head) * tokens_ * tokens_ * count;
  }

 private:
  int dimension_;
  int tokens_;
  int heads_;
  int head_columns_;
};

template <class Real>
std::shared_ptr<const OnlineStudent<Real>> make_online_student(Parametrization parametrization, int dimension,
                                                               int tokens, int heads, int width);

}  // namespace qklab::lab
