#include "normal_numbers.hpp"

#include <array>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/core/normal_numbers.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef QKLAB_CORE_NORMAL_NUMBERS_COEFFICIENTS
#define QKLAB_CORE_NORMAL_NUMBERS_COEFFICIENTS
namespace qklab::series {

/// 2 atanh(s)/s = sum_j 2 s^(2j)/(2j + 1); the next term is below 2^-56 of it where |s| <= 3 - 2 sqrt 2.
constexpr std::array<double, 11> atanh() {
  std::array<double, 11> c{};
  for (int j = 0; j < 11; ++j) c[j] = 2.0 / (2 * j + 1);
  return c;
}

/// (pi/2)^k/k! with alternating signs for k = first, first + 2, ...: sin(pi r/2)/r in r^2 from 1,
/// cos(pi r/2) from 0. The next terms are below 2^-57 where |r| <= 1/2.
constexpr std::array<double, 9> circle(int first) {
  std::array<double, 9> c{};
  long double term = first == 1 ? std::numbers::pi_v<long double> / 2 : 1.0L;
  for (int j = 0; j < 9; ++j) {
    c[j] = static_cast<double>(term);
    const int k = first + 2 * j;
    term *=
        -(std::numbers::pi_v<long double> / 2) * (std::numbers::pi_v<long double> / 2) / ((k + 1) * (k + 2));
  }
  return c;
}

}  // namespace qklab::series
#endif

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, std::size_t N, class V>
V polynomial(D d, const std::array<double, N>& coefficients, V x) {
  V sum = hn::Set(d, coefficients[N - 1]);
  for (std::size_t j = N - 1; j-- > 0;) sum = hn::Add(hn::Mul(sum, x), hn::Set(d, coefficients[j]));
  return sum;
}

/// (k + 1/2) 2^-52 of the upper 52 bits, exactly.
template <class D, class W>
hn::Vec<D> uniform(D d, W words) {
  const hn::RebindToUnsigned<D> bits;
  const auto one = hn::Set(d, 1.0);
  const auto from_one = hn::BitCast(d, hn::Or(hn::ShiftRight<12>(words), hn::BitCast(bits, one)));
  return hn::Add(hn::Sub(from_one, one), hn::Set(d, 0x1p-53));
}

/// sqrt(-2 log u): u = m 2^e with sqrt(1/2) <= m < sqrt 2, log m = 2 atanh((m - 1)/(m + 1)).
template <class D, class V>
V radius(D d, V u) {
  static constexpr auto coefficients = series::atanh();
  const hn::RebindToUnsigned<D> bits;
  const hn::RebindToSigned<D> integers;
  const auto one = hn::Set(d, 1.0);
  // Adding what lies between sqrt(1/2) and 1 carries into the exponent exactly where m >= sqrt(1/2).
  const auto half_root = hn::BitCast(bits, hn::Set(d, std::numbers::sqrt2 / 2));
  const auto carried = hn::Add(hn::BitCast(bits, u), hn::Sub(hn::BitCast(bits, one), half_root));
  const auto exponent = hn::Sub(hn::BitCast(integers, hn::ShiftRight<52>(carried)), hn::Set(integers, 1023));
  const auto mantissa = hn::And(carried, hn::Set(bits, (std::uint64_t{1} << 52) - 1));
  const auto m = hn::BitCast(d, hn::Add(mantissa, half_root));
  const auto s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const auto log_m = hn::Mul(s, polynomial(d, coefficients, hn::Mul(s, s)));
  const auto log_u = hn::Add(log_m, hn::Mul(hn::ConvertTo(d, exponent), hn::Set(d, std::numbers::ln2)));
  return hn::Sqrt(hn::Mul(hn::Set(d, -2.0), log_u));
}

/// cos and sin of 2 pi u: the nearest multiple q of a quarter turn is taken off exactly.
template <class D, class V>
void turn(D d, V u, V& cosine, V& sine) {
  static constexpr auto sines = series::circle(1);
  static constexpr auto cosines = series::circle(0);
  const hn::RebindToUnsigned<D> bits;
  const auto quarters = hn::Mul(u, hn::Set(d, 4.0));
  // Next to 1.5 * 2^52 doubles are the integers, the last bits of which are the last bits of q.
  const auto magic = hn::Set(d, 0x1.8p52);
  const auto shifted = hn::Add(quarters, magic);
  const auto r = hn::Sub(quarters, hn::Sub(shifted, magic));
  const auto q = hn::BitCast(bits, shifted);
  const auto square = hn::Mul(r, r);
  const auto c = hn::BitCast(bits, polynomial(d, cosines, square));
  const auto s = hn::BitCast(bits, hn::Mul(r, polynomial(d, sines, square)));
  // q = 0, 1, 2, 3: (c, s), (-s, c), (-c, -s), (s, -c).
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(bits), hn::And(q, hn::Set(bits, 1)))));
  const auto upper = hn::ShiftLeft<62>(q);
  const auto lower = hn::ShiftLeft<63>(q);
  const auto sign = hn::Set(bits, std::uint64_t{1} << 63);
  const auto sine_sign = hn::And(upper, sign);
  const auto cosine_sign = hn::Xor(sine_sign, lower);
  cosine = hn::BitCast(d, hn::Xor(hn::IfThenElse(hn::RebindMask(bits, odd), s, c), cosine_sign));
  sine = hn::BitCast(d, hn::Xor(hn::IfThenElse(hn::RebindMask(bits, odd), c, s), sine_sign));
}

template <class D>
std::size_t pairs_of(D d, const std::uint64_t* words, std::size_t count, double* normals) {
  const hn::RebindToUnsigned<D> bits;
  const std::size_t step = 2 * hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    hn::Vec<decltype(bits)> first;
    hn::Vec<decltype(bits)> second;
    hn::LoadInterleaved2(bits, words + i, first, second);
    const auto r = radius(d, uniform(d, first));
    hn::Vec<D> cosine;
    hn::Vec<D> sine;
    turn(d, uniform(d, second), cosine, sine);
    hn::StoreInterleaved2(hn::Mul(r, cosine), hn::Mul(r, sine), d, normals + i);
  }
  return i;
}

void normals_of_words(const std::uint64_t* words, std::size_t count, double* normals) {
  const std::size_t done = pairs_of(hn::ScalableTag<double>(), words, count, normals);
  pairs_of(hn::CappedTag<double, 1>(), words + done, count - done, normals + done);
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab {

HWY_EXPORT(normals_of_words);

void normal_numbers(const std::uint64_t* words, std::size_t count, double* normals) {
  HWY_DYNAMIC_DISPATCH(normals_of_words)(words, count, normals);
}

}  // namespace qklab
#endif
