#include "qklab/dynamics/population/order_parameters.hpp"

#include <cmath>

namespace qklab::dynamics {

using Eigen::Index;
using Eigen::MatrixXd;

OrderParameters order_parameters(std::span<const MatrixXd> matrices) {
  const auto count = static_cast<Index>(matrices.size());
  OrderParameters parameters{Eigen::VectorXd(count), MatrixXd(count, count), MatrixXd(count, count)};
  for (Index k = 0; k < count; ++k) {
    const MatrixXd& s = matrices[k];
    const auto d = static_cast<double>(s.rows());
    parameters.mean[k] = s.trace() / std::sqrt(d);
    for (Index l = 0; l <= k; ++l) {
      parameters.transposed(k, l) = s.cwiseProduct(matrices[l]).sum() / d;
      parameters.product(k, l) = s.transpose().cwiseProduct(matrices[l]).sum() / d;
      parameters.transposed(l, k) = parameters.transposed(k, l);
      parameters.product(l, k) = parameters.product(k, l);
    }
  }
  return parameters;
}

OrderParameters symmetric_pair(double teacher_self_overlap, double overlap, double self_overlap) {
  const MatrixXd overlaps{{self_overlap, overlap}, {overlap, teacher_self_overlap}};
  return {Eigen::VectorXd::Zero(2), overlaps, overlaps};
}

}  // namespace qklab::dynamics
