#include "cumulative.hpp"

namespace qklab::dynamics {
namespace {

/// Column k is the integral over interval k.
Eigen::ArrayXXd over_intervals(const Eigen::ArrayXXd& f, double step) {
  const Eigen::Index last = f.cols() - 1;
  Eigen::ArrayXXd parts(f.rows(), last);
  if (last == 1) {
    parts.col(0) = step / 2 * (f.col(0) + f.col(1));
  } else if (last == 2) {
    parts.col(0) = step / 12 * (5 * f.col(0) + 8 * f.col(1) - f.col(2));
    parts.col(1) = step / 12 * (-f.col(0) + 8 * f.col(1) + 5 * f.col(2));
  } else {
    parts.col(0) = step / 24 * (9 * f.col(0) + 19 * f.col(1) - 5 * f.col(2) + f.col(3));
    for (Eigen::Index k = 1; k + 1 < last; ++k) {
      parts.col(k) = step / 24 * (13 * (f.col(k) + f.col(k + 1)) - f.col(k - 1) - f.col(k + 2));
    }
    parts.col(last - 1) =
        step / 24 * (9 * f.col(last) + 19 * f.col(last - 1) - 5 * f.col(last - 2) + f.col(last - 3));
  }
  return parts;
}

}  // namespace

Eigen::ArrayXXd integral_to(const Eigen::ArrayXXd& samples, double step) {
  Eigen::ArrayXXd sums = Eigen::ArrayXXd::Zero(samples.rows(), samples.cols());
  if (samples.cols() < 2) return sums;
  const Eigen::ArrayXXd parts = over_intervals(samples, step);
  for (Eigen::Index k = 0; k < parts.cols(); ++k) sums.col(k + 1) = sums.col(k) + parts.col(k);
  return sums;
}

Eigen::ArrayXXd integral_from(const Eigen::ArrayXXd& samples, double step) {
  Eigen::ArrayXXd sums = Eigen::ArrayXXd::Zero(samples.rows(), samples.cols());
  if (samples.cols() < 2) return sums;
  const Eigen::ArrayXXd parts = over_intervals(samples, step);
  for (Eigen::Index k = parts.cols() - 1; k >= 0; --k) sums.col(k) = sums.col(k + 1) + parts.col(k);
  return sums;
}

}  // namespace qklab::dynamics
