#pragma once

#include <Eigen/Core>
#include <span>

namespace qklab::dynamics {

/// What the population loss sees of K students and K0 teachers, S_1..S_K, S0_1..S0_K0 as one list of P
/// matrices (docs/theory section 10.2).
struct OrderParameters {
  Eigen::VectorXd mean;        ///< mu_k = Tr S_k/sqrt d, P values; of no effect where scores are centred
  Eigen::MatrixXd transposed;  ///< Omega_kl = Tr(S_k S_l^T)/d, P x P, symmetric
  Eigen::MatrixXd product;     ///< Psi_kl = Tr(S_k S_l)/d, P x P, symmetric

  Eigen::Index count() const { return mean.size(); }
};

/// The order parameters of d x d matrices, students first.
OrderParameters order_parameters(std::span<const Eigen::MatrixXd> matrices);

/// One symmetric student with m = Tr(S S0)/d and q = Tr(S^2)/d, one symmetric teacher with Q0; both of zero
/// mean.
OrderParameters symmetric_pair(double teacher_self_overlap, double overlap, double self_overlap);

}  // namespace qklab::dynamics
