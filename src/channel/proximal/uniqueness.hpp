#pragma once

#include "qklab/channel/labels/channel.hpp"
#include "qklab/channel/proximal/proximal.hpp"
#include "qklab/channel/proximal/untied_susceptibilities.hpp"

namespace qklab {

/// A minimum that a search has found.
struct FoundMinimum {
  double objective;  ///< F = ||y - sigma(e*)||^2 + distance/2
  double distance;   ///< |e* - w|^2/V, for ordered pairs sum_k (x*_k - w_k)^2/V_k
};

/// True when it is proved that no other point has an objective as low as the minimum found at `point`; false
/// says nothing. Three sufficient conditions, cheapest first; each shows that the objective is strictly
/// convex on a convex set that holds every point at least as good:
///
/// 1. Segment, any T. Such a point lies in |e - w| <= sqrt(2 V F) and has a loss <= F. The negative curvature
/// of the
///    loss is at most (8/(6 sqrt 3)) beta^2 omega, omega the largest spread max - min of p - y within a row,
///    because max |E (x - Ex)^2 (f - Ef)| = 1/(6 sqrt 3) over all laws with x, f in [0, 1]. omega <= sqrt(2
///    loss) at both ends of the segment and changes by at most beta per unit of e.
/// 2. Ratios, any T. A loss <= F confines p to |p_b - y_b| <= r = sqrt(F (T-1)/T), hence the ratios p_b/p_c,
/// which is
///    convex in e; there omega <= r (1 + (T-2) max y) (1/(1 - (T-2) r) + 1/(1 + (T-2) r)). The curvature is
///    bounded as above and by beta^2 T omega^2, because p_b + rho_b - p.rho >= p_b - omega.
/// 3. Box, T = 2. The loss is 2 (s_u - a)^2 + 2 (s_v - b)^2, s = logistic function of the two logit gaps, and
/// a
///    loss <= F confines each gap to an interval |s - a| <= r = sqrt(F/2). With k = s (1 - s) its second
///    derivative is 4 beta^2 k (k + (s - a)(1 - 2s)) >= 4 beta^2 k ((1 + 2r) k - r).
bool is_only_minimum(const Channel& channel, double susceptibility, const PointRows& label, int point,
                     const FoundMinimum& found);

/// The same for the scores of ordered pairs; `label` holds the T*T entries of one point. Conditions 1 and 2
/// hold with the larger of the two susceptibilities; in 3 the gradients of the gaps have square 3 V_s + V_a
/// and product V_s - V_a.
bool is_only_minimum(const Channel& channel, const UntiedSusceptibilities& susceptibilities,
                     const double* label, const FoundMinimum& found);

}  // namespace qklab
