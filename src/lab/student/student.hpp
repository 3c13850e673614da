#pragma once

#include <memory>
#include <span>

#include "lab/matrix/row_kernels.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/lab/student/parameters.hpp"

namespace qklab::lab {

/// One parametrization as the sweep over the data sees it: from the products Z = X P of the tokens with the
/// parameters to scores, and from the slopes G of the loss in the scores back to the parameters.
///
/// Through x_a . P x_b the gradient is X^T M, M mixed from G and the rows of X or Z; what does not pass
/// through the tokens (the trace in the scores, the penalty) is added at the end.
template <class Real>
class Student {
 public:
  Student(const Problem& problem, ScoreLayout layout);
  virtual ~Student() = default;

  ScoreLayout layout() const { return layout_; }
  /// Of P, Z and M.
  int columns() const { return columns_; }

  /// P in the precision of the products.
  virtual void load(std::span<const double> parameters, std::span<Real> matrix) const;
  /// Tr S.
  virtual double trace(std::span<const double> parameters) const = 0;
  virtual double penalty(std::span<const double> parameters) const = 0;

  /// Z = X P.
  virtual void project(int rows, const Real* x, const Real* matrix, Real* z) const;
  /// product = X^T M + beta product.
  virtual void gather(int rows, const Real* x, const Real* mixed, Real beta, Real* product) const;

  /// h_ab of `count` samples from X and Z, both a row a token.
  virtual void scores(int count, const Real* x, const Real* z, double trace, double* scores) const = 0;
  /// M of `count` samples, a row a token.
  virtual void mix(int count, const double* slopes, const Real* x, const Real* z, Real* mixed) const = 0;
  /// Turns X^T M, summed over the data and held by `gradient`, into the gradient of scale * loss + penalty;
  /// trace_slope is the sum of G_aa.
  virtual void finish(std::span<const double> parameters, double scale, double trace_slope,
                      std::span<double> gradient) const = 0;

 protected:
  /// A block of samples whose rows have `width` entries.
  RowBlock block(int count, int width) const { return {layout_, tokens_, count, width}; }
  /// 1/sqrt d.
  double score_scale() const { return score_scale_; }
  /// lambda/d.
  double decay() const { return decay_; }
  int dimension() const { return dimension_; }

 private:
  ScoreLayout layout_;
  int dimension_;
  int tokens_;
  int columns_;
  double score_scale_;
  double decay_;
};

template <class Real>
std::shared_ptr<const Student<Real>> make_student(const Problem& problem);

}  // namespace qklab::lab
