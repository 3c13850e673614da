#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace qklab {

/// LDL^T factors of I + H for small symmetric H. Pivots that are not positive are replaced by their modulus,
/// which keeps the solution a descent direction.
template <int Size>
class ModifiedFactors {
 public:
  using Vector = Eigen::Matrix<double, Size, 1>;
  using Square = Eigen::Matrix<double, Size, Size>;

  explicit ModifiedFactors(int size) : lower_(size, size), inverse_pivot_(size) {}

  void factor(const Square& hessian) {
    lower_ = hessian;
    lower_.diagonal().array() += 1;
    smallest_ = INFINITY;
    for (int j = 0; j < size(); ++j) {
      smallest_ = std::min(smallest_, lower_(j, j));
      inverse_pivot_[j] = 1 / std::max(std::abs(lower_(j, j)), 1e-6);
      for (int i = size() - 1; i > j; --i) {
        const double ratio = lower_(i, j) * inverse_pivot_[j];
        for (int k = j + 1; k <= i; ++k) lower_(i, k) -= ratio * lower_(k, j);
        lower_(i, j) = ratio;
      }
    }
  }

  /// Overwrites x with (I + H)^{-1} x.
  void solve(Vector& x) const {
    for (int j = 0; j < size(); ++j) {
      for (int i = j + 1; i < size(); ++i) x[i] -= lower_(i, j) * x[j];
    }
    for (int j = size() - 1; j >= 0; --j) {
      x[j] *= inverse_pivot_[j];
      for (int i = j + 1; i < size(); ++i) x[j] -= lower_(i, j) * x[i];
    }
  }

  /// The smallest pivot before it was replaced.
  double smallest() const { return smallest_; }

 private:
  int size() const { return Size > 0 ? Size : static_cast<int>(inverse_pivot_.size()); }

  Square lower_;
  Vector inverse_pivot_;
  double smallest_ = INFINITY;
};

}  // namespace qklab
