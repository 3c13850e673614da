#pragma once

#include <Eigen/Core>
#include <functional>

#include "qklab/theory/fixed_point/fixed_point.hpp"

namespace qklab::theory {

/// A problem whose weight decay can be changed, and how it is solved.
struct WeightDecayFamily {
  double lambda;                                                ///< the wanted one
  Eigen::VectorXd start;                                        ///< at strong weight decay
  std::function<void(double)> turn_to;                          ///< to another lambda
  std::function<FixedPoint(const Eigen::VectorXd& from)> find;  ///< at the lambda turned to last
  StopToken stop{};
};

/// Weight decay strong enough for an easy problem, then down to the wanted one, each start from the last
/// solution. What is found at the wanted one where its residual is below that of `failed`, else that. Leaves
/// the family at the wanted weight decay.
FixedPoint find_by_continuation(const WeightDecayFamily& family, const FixedPoint& failed);

}  // namespace qklab::theory
