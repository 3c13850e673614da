#pragma once

namespace qklab {

/// The lower tail of a standard normal: log Phi(x), and the hazard phi(x)/Phi(x), which grows like -x.
struct NormalTail {
  double log_mass;
  double hazard;
};

/// Absolute error 1e-13 for x > -12, relative error 1e-14 below; NaN gives NaN. A table and one fifth-degree
/// polynomial each: much faster than erfc, exp and log.
NormalTail normal_tail(double x);

}  // namespace qklab
