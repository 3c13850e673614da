#include "atom_sums.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/spectra/atom_sums.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace qklab::spectra::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Lanes = hn::Vec<Tag>;

struct LaneSums {
  Lanes a0, a1, b0, b1;
};

HWY_INLINE void add(LaneSums& sums, Lanes r, Lanes mass, Lanes inverse) {
  const Lanes a = hn::Mul(mass, inverse);
  const Lanes b = hn::Mul(a, inverse);
  sums.a0 = hn::Add(sums.a0, a);
  sums.a1 = hn::MulAdd(a, r, sums.a1);
  sums.b0 = hn::Add(sums.b0, b);
  sums.b1 = hn::MulAdd(b, r, sums.b1);
}

HWY_INLINE double total(Tag d, Lanes lanes) {
  return hn::GetLane(hn::SumOfLanes(d, lanes));
}

AtomSums sum_lanes(const double* locations, const double* masses, size_t count, double reference,
                   double offset, double height_squared) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const Lanes reference_lanes = hn::Set(d, reference);
  const Lanes offset_lanes = hn::Set(d, offset);
  const Lanes height_lanes = hn::Set(d, height_squared);
  const Lanes one = hn::Set(d, 1.0);
  LaneSums even{hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  LaneSums odd = even;
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const Lanes r0 = hn::Add(hn::Sub(reference_lanes, hn::LoadU(d, locations + i)), offset_lanes);
    const Lanes r1 = hn::Add(hn::Sub(reference_lanes, hn::LoadU(d, locations + i + lanes)), offset_lanes);
    const Lanes q0 = hn::MulAdd(r0, r0, height_lanes);
    const Lanes q1 = hn::MulAdd(r1, r1, height_lanes);
    // Division is the bottleneck: one of it serves two denominators.
    const Lanes inverse = hn::Div(one, hn::Mul(q0, q1));
    add(even, r0, hn::LoadU(d, masses + i), hn::Mul(inverse, q1));
    add(odd, r1, hn::LoadU(d, masses + i + lanes), hn::Mul(inverse, q0));
  }
  AtomSums sums;
  sums.a0 = total(d, hn::Add(even.a0, odd.a0));
  sums.a1 = total(d, hn::Add(even.a1, odd.a1));
  sums.b0 = total(d, hn::Add(even.b0, odd.b0));
  sums.b1 = total(d, hn::Add(even.b1, odd.b1));
  for (; i < count; ++i) {
    const double r = (reference - locations[i]) + offset;
    const double inverse = 1 / (r * r + height_squared);
    const double a = masses[i] * inverse;
    sums.a0 += a;
    sums.a1 += a * r;
    sums.b0 += a * inverse;
    sums.b1 += a * inverse * r;
  }
  return sums;
}

}  // namespace qklab::spectra::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab::spectra {

HWY_EXPORT(sum_lanes);

AtomSums sum_atoms(const DiscreteLaw& law, double reference, double offset, double height_squared) {
  return HWY_DYNAMIC_DISPATCH(sum_lanes)(law.locations.data(), law.masses.data(), law.locations.size(),
                                         reference, offset, height_squared);
}

}  // namespace qklab::spectra
#endif
