#include "row_kernels.hpp"

#include <cstddef>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/lab/row_kernels.cpp"
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
void scores_of_rows(int tokens, int count, int width, const Real* left, const Real* right, double trace,
                    double scale, double* scores) {
  const auto stride = static_cast<std::size_t>(width);
  for (int s = 0; s < count; ++s) {
    double* score = scores + s;
    for (int a = 0; a < tokens; ++a) {
      const Real* row = left + (static_cast<std::size_t>(s) * tokens + a) * stride;
      for (int b = a; b < tokens; ++b, score += count) {
        const Real* column = right + (static_cast<std::size_t>(s) * tokens + b) * stride;
        *score = scale * (dot(row, column, width) - (a == b ? trace : 0));
      }
    }
  }
}

/// result = sum_b coefficients[b] rows_b over the T rows of one sample.
template <class Real>
void combine(int tokens, int width, const Real* coefficients, const Real* rows, Real* result) {
  const hn::ScalableTag<Real> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= width; i += lanes) {
    auto sum = hn::Mul(hn::Set(d, coefficients[0]), hn::LoadU(d, rows + i));
    for (int b = 1; b < tokens; ++b) {
      const Real* row = rows + static_cast<std::size_t>(b) * width + i;
      sum = hn::MulAdd(hn::Set(d, coefficients[b]), hn::LoadU(d, row), sum);
    }
    hn::StoreU(sum, d, result + i);
  }
  for (; i < width; ++i) {
    Real sum = 0;
    for (int b = 0; b < tokens; ++b) sum += coefficients[b] * rows[static_cast<std::size_t>(b) * width + i];
    result[i] = sum;
  }
}

template <class Real>
void mixture_of_rows(int tokens, int count, int width, const double* gradient, const Real* rows,
                     Real* mixed) {
  std::vector<Real> coefficients(static_cast<std::size_t>(tokens) * tokens);
  const std::size_t sample_stride = static_cast<std::size_t>(tokens) * width;
  for (int s = 0; s < count; ++s) {
    const double* g = gradient + s;
    for (int a = 0; a < tokens; ++a) {
      for (int b = a; b < tokens; ++b, g += count) {
        const auto value = static_cast<Real>(a == b ? 2 * *g : *g);
        coefficients[a * tokens + b] = coefficients[b * tokens + a] = value;
      }
    }
    const Real* sample = rows + s * sample_stride;
    for (int a = 0; a < tokens; ++a) {
      Real* result = mixed + s * sample_stride + static_cast<std::size_t>(a) * width;
      combine(tokens, width, coefficients.data() + a * tokens, sample, result);
    }
  }
}

// Run-time dispatch needs plain functions.
void scores_of_rows_f32(int tokens, int count, int width, const float* left, const float* right, double trace,
                        double scale, double* scores) {
  scores_of_rows(tokens, count, width, left, right, trace, scale, scores);
}
void scores_of_rows_f64(int tokens, int count, int width, const double* left, const double* right,
                        double trace, double scale, double* scores) {
  scores_of_rows(tokens, count, width, left, right, trace, scale, scores);
}
void mixture_of_rows_f32(int tokens, int count, int width, const double* gradient, const float* rows,
                         float* mixed) {
  mixture_of_rows(tokens, count, width, gradient, rows, mixed);
}
void mixture_of_rows_f64(int tokens, int count, int width, const double* gradient, const double* rows,
                         double* mixed) {
  mixture_of_rows(tokens, count, width, gradient, rows, mixed);
}

}  // namespace qklab::lab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab::lab {

HWY_EXPORT(scores_of_rows_f32);
HWY_EXPORT(scores_of_rows_f64);
HWY_EXPORT(mixture_of_rows_f32);
HWY_EXPORT(mixture_of_rows_f64);

template <>
void row_scores(int tokens, int count, int width, const float* left, const float* right, double trace,
                double scale, double* scores) {
  HWY_DYNAMIC_DISPATCH(scores_of_rows_f32)(tokens, count, width, left, right, trace, scale, scores);
}

template <>
void row_scores(int tokens, int count, int width, const double* left, const double* right, double trace,
                double scale, double* scores) {
  HWY_DYNAMIC_DISPATCH(scores_of_rows_f64)(tokens, count, width, left, right, trace, scale, scores);
}

template <>
void mix_rows(int tokens, int count, int width, const double* gradient, const float* rows, float* mixed) {
  HWY_DYNAMIC_DISPATCH(mixture_of_rows_f32)(tokens, count, width, gradient, rows, mixed);
}

template <>
void mix_rows(int tokens, int count, int width, const double* gradient, const double* rows, double* mixed) {
  HWY_DYNAMIC_DISPATCH(mixture_of_rows_f64)(tokens, count, width, gradient, rows, mixed);
}

}  // namespace qklab::lab
#endif
