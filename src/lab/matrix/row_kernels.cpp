#include "row_kernels.hpp"

#include <cstddef>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/lab/matrix/row_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace qklab::lab::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
double dot(const Real* left, const Real* right, int width) {
  const hn::ScalableTag<Real> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Four sums hide the latency of the multiply-add.
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  int i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, left + i), hn::LoadU(d, right + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, left + i + lanes), hn::LoadU(d, right + i + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, left + i + 2 * lanes), hn::LoadU(d, right + i + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, left + i + 3 * lanes), hn::LoadU(d, right + i + 3 * lanes), sum3);
  }
  for (; i + lanes <= width; i += lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, left + i), hn::LoadU(d, right + i), sum0);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < width; ++i) total += static_cast<double>(left[i]) * static_cast<double>(right[i]);
  return total;
}

template <class Real>
void scores_of_rows(const RowBlock& block, Rows<const Real> left, Rows<const Real> right, double trace,
                    double scale, double* scores) {
  const bool full = block.layout == ScoreLayout::full;
  for (int s = 0; s < block.count; ++s) {
    double* score = scores + s;
    const std::size_t first = static_cast<std::size_t>(s) * block.tokens;
    for (int a = 0; a < block.tokens; ++a) {
      const Real* row = left.first + (first + a) * left.stride;
      for (int b = full ? 0 : a; b < block.tokens; ++b, score += block.count) {
        const Real* column = right.first + (first + b) * right.stride;
        *score = scale * (dot(row, column, block.width) - (a == b ? trace : 0));
      }
    }
  }
}

template <class Real>
void symmetric_scores_of_rows(const RowBlock& block, Rows<const Real> left, Rows<const Real> right,
                              double trace, double scale, double* scores) {
  const int width = block.width;
  for (int s = 0; s < block.count; ++s) {
    double* score = scores + s;
    const std::size_t first = static_cast<std::size_t>(s) * block.tokens;
    for (int a = 0; a < block.tokens; ++a) {
      const Real* left_a = left.first + (first + a) * left.stride;
      const Real* right_a = right.first + (first + a) * right.stride;
      *score = scale * (2 * dot(left_a, right_a, width) - trace);
      score += block.count;
      for (int b = a + 1; b < block.tokens; ++b, score += block.count) {
        const Real* left_b = left.first + (first + b) * left.stride;
        const Real* right_b = right.first + (first + b) * right.stride;
        *score = scale * (dot(left_a, right_b, width) + dot(right_a, left_b, width));
      }
    }
  }
}

/// result = sum_b coefficients[b] rows_b over the T rows of one sample.
template <class Real>
void combine(int tokens, int width, const Real* coefficients, Rows<const Real> rows, Real* result) {
  const hn::ScalableTag<Real> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto stride = static_cast<std::size_t>(rows.stride);
  int i = 0;
  for (; i + lanes <= width; i += lanes) {
    auto sum = hn::Mul(hn::Set(d, coefficients[0]), hn::LoadU(d, rows.first + i));
    for (int b = 1; b < tokens; ++b) {
      sum = hn::MulAdd(hn::Set(d, coefficients[b]), hn::LoadU(d, rows.first + b * stride + i), sum);
    }
    hn::StoreU(sum, d, result + i);
  }
  for (; i < width; ++i) {
    Real sum = 0;
    for (int b = 0; b < tokens; ++b) sum += coefficients[b] * rows.first[b * stride + i];
    result[i] = sum;
  }
}

/// The T x T matrix that mixes the rows of one sample: g, its transpose, or the sum of both where g holds the
/// pairs a <= b.
template <class Real>
void load_coefficients(const RowBlock& block, Factor factor, const double* g, Real* coefficients) {
  const int tokens = block.tokens;
  if (block.layout == ScoreLayout::full) {
    for (int a = 0; a < tokens; ++a) {
      for (int b = 0; b < tokens; ++b, g += block.count) {
        coefficients[factor == Factor::left ? a * tokens + b : b * tokens + a] = static_cast<Real>(*g);
      }
    }
    return;
  }
  for (int a = 0; a < tokens; ++a) {
    for (int b = a; b < tokens; ++b, g += block.count) {
      const auto value = static_cast<Real>(a == b ? 2 * *g : *g);
      coefficients[a * tokens + b] = coefficients[b * tokens + a] = value;
    }
  }
}

template <class Real>
void mixture_of_rows(const RowBlock& block, Factor factor, const double* gradient, Rows<const Real> rows,
                     Rows<Real> mixed) {
  const int tokens = block.tokens;
  std::vector<Real> coefficients(static_cast<std::size_t>(tokens) * tokens);
  for (int s = 0; s < block.count; ++s) {
    load_coefficients(block, factor, gradient + s, coefficients.data());
    const std::size_t first = static_cast<std::size_t>(s) * tokens;
    const Rows<const Real> sample{rows.first + first * rows.stride, rows.stride};
    for (int a = 0; a < tokens; ++a) {
      combine(tokens, block.width, coefficients.data() + a * tokens, sample,
              mixed.first + (first + a) * mixed.stride);
    }
  }
}

// Run-time dispatch needs plain functions.
void scores_of_rows_f32(const RowBlock& block, Rows<const float> left, Rows<const float> right, double trace,
                        double scale, double* scores) {
  scores_of_rows(block, left, right, trace, scale, scores);
}
void scores_of_rows_f64(const RowBlock& block, Rows<const double> left, Rows<const double> right,
                        double trace, double scale, double* scores) {
  scores_of_rows(block, left, right, trace, scale, scores);
}
void symmetric_scores_of_rows_f32(const RowBlock& block, Rows<const float> left, Rows<const float> right,
                                  double trace, double scale, double* scores) {
  symmetric_scores_of_rows(block, left, right, trace, scale, scores);
}
void symmetric_scores_of_rows_f64(const RowBlock& block, Rows<const double> left, Rows<const double> right,
                                  double trace, double scale, double* scores) {
  symmetric_scores_of_rows(block, left, right, trace, scale, scores);
}
void mixture_of_rows_f32(const RowBlock& block, Factor factor, const double* gradient, Rows<const float> rows,
                         Rows<float> mixed) {
  mixture_of_rows(block, factor, gradient, rows, mixed);
}
void mixture_of_rows_f64(const RowBlock& block, Factor factor, const double* gradient,
                         Rows<const double> rows, Rows<double> mixed) {
  mixture_of_rows(block, factor, gradient, rows, mixed);
}

}  // namespace qklab::lab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab::lab {

HWY_EXPORT(scores_of_rows_f32);
HWY_EXPORT(scores_of_rows_f64);
HWY_EXPORT(symmetric_scores_of_rows_f32);
HWY_EXPORT(symmetric_scores_of_rows_f64);
HWY_EXPORT(mixture_of_rows_f32);
HWY_EXPORT(mixture_of_rows_f64);

template <>
void row_scores(const RowBlock& block, Rows<const float> left, Rows<const float> right, double trace,
                double scale, double* scores) {
  HWY_DYNAMIC_DISPATCH(scores_of_rows_f32)(block, left, right, trace, scale, scores);
}

template <>
void row_scores(const RowBlock& block, Rows<const double> left, Rows<const double> right, double trace,
                double scale, double* scores) {
  HWY_DYNAMIC_DISPATCH(scores_of_rows_f64)(block, left, right, trace, scale, scores);
}

template <>
void symmetric_row_scores(const RowBlock& block, Rows<const float> left, Rows<const float> right,
                          double trace, double scale, double* scores) {
  HWY_DYNAMIC_DISPATCH(symmetric_scores_of_rows_f32)(block, left, right, trace, scale, scores);
}

template <>
void symmetric_row_scores(const RowBlock& block, Rows<const double> left, Rows<const double> right,
                          double trace, double scale, double* scores) {
  HWY_DYNAMIC_DISPATCH(symmetric_scores_of_rows_f64)(block, left, right, trace, scale, scores);
}

template <>
void mix_rows(const RowBlock& block, Factor factor, const double* gradient, Rows<const float> rows,
              Rows<float> mixed) {
  HWY_DYNAMIC_DISPATCH(mixture_of_rows_f32)(block, factor, gradient, rows, mixed);
}

template <>
void mix_rows(const RowBlock& block, Factor factor, const double* gradient, Rows<const double> rows,
              Rows<double> mixed) {
  HWY_DYNAMIC_DISPATCH(mixture_of_rows_f64)(block, factor, gradient, rows, mixed);
}

}  // namespace qklab::lab
#endif
