#pragma once

#include <memory>

#include "qklab/channel/labels/channel.hpp"
#include "qklab/channel/proximal/untied_susceptibilities.hpp"

namespace qklab {

/// One point of the proximal map. Coordinates x: T(T+1)/2 symmetric white scores packed like h, then the
/// T(T-1)/2 antisymmetric ones t_ab, a < b, row by row.
struct UntiedPoint {
  const double* preimage;     ///< z, the symmetric coordinates only
  const double* label_noise;  ///< T*T entries added to sigma(z); null: none
  const double* center;       ///< (w, u)
  double* minimiser;          ///< x*; one of the starts when has_minimiser
  double* residual;           ///< g
  bool has_minimiser;
};

/// Loss and derivatives at the minimiser.
struct UntiedResponse {
  double loss = 0;                      ///< ||y - sigma(x*)||_F^2
  double teacher_divergence = 0;        ///< div_z g_s at fixed label noise, by implicit differentiation
  double symmetric_divergence = 0;      ///< div_w g_s
  double antisymmetric_divergence = 0;  ///< div_u g_a
  double symmetric_jacobian = 0;        ///< |dg_s/dw|_F^2
  double mixed_jacobian = 0;            ///< |dg_s/du|_F^2
  double antisymmetric_jacobian = 0;    ///< |dg_a/du|_F^2
  bool converged = false;
  bool competing = false;  ///< distinct minima were found
};

/// The proximal map over the scores of ordered pairs, point by point:
///   x* = argmin_x ||y - sigma(x)||_F^2 + sum_k (x_k - w_k)^2/(2 V_k),   g_k = (x*_k - w_k)/V_k,
/// V_k = V_s for symmetric and V_a for antisymmetric coordinates (docs/theory section 8.2).
///
/// Damped Newton steps from the remembered minimiser or from w; unless the minimum found is proved to be the
/// only one that low (uniqueness.hpp), further starts follow (w, z, and the label's own scores in some rows)
/// and the lowest is kept.
class UntiedProximalMap {
 public:
  virtual ~UntiedProximalMap() = default;
  virtual UntiedResponse solve(const UntiedPoint& point, const UntiedSusceptibilities& susceptibilities) = 0;
  /// sigma(h), T*T entries, of the coordinates x.
  virtual void attend(const double* coordinates, double* attention) const = 0;
};

std::unique_ptr<UntiedProximalMap> untied_proximal_map(const Channel& channel);

}  // namespace qklab
