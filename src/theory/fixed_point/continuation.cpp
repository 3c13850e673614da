#include "qklab/theory/fixed_point/continuation.hpp"

#include <algorithm>

namespace qklab::theory {

FixedPoint find_by_continuation(const WeightDecayFamily& family, const FixedPoint& failed) {
  constexpr int tries = 5;
  constexpr double weakest_start = 1e-4;
  constexpr double weakest_on_the_way = 1e-12;
  double lambda = std::max(family.lambda, weakest_start);
  FixedPoint point;
  for (int k = 0; k < tries && !is_answer(point.outcome); ++k) {
    lambda *= 4;
    family.turn_to(lambda);
    point = family.find(family.start);
  }
  while (is_answer(point.outcome) && lambda > family.lambda && !family.stop.requested()) {
    const double next = lambda / 2;
    lambda = next > std::max(family.lambda, weakest_on_the_way) ? next : family.lambda;
    family.turn_to(lambda);
    point = family.find(point.x);
  }
  const bool reached = lambda == family.lambda;
  family.turn_to(family.lambda);
  return reached && point.residual < failed.residual ? point : failed;
}

}  // namespace qklab::theory
