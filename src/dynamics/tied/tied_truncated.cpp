#include "qklab/dynamics/tied/tied_truncated.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

JacobiCoefficients lanczos(const DiscreteLaw& law, int order);

}  // namespace

DiscreteLaw truncated_law(const Law& law, int nodes) {
  const JacobiCoefficients jacobi = jacobi_coefficients(law, nodes);
  const auto size = static_cast<Eigen::Index>(jacobi.diagonal.size());
  const Eigen::Map<const Eigen::VectorXd> diagonal(jacobi.diagonal.data(), size);
  const Eigen::Map<const Eigen::VectorXd> coupling(jacobi.coupling.data(), size - 1);
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen;
  eigen.computeFromTridiagonal(diagonal, coupling);
  DiscreteLaw rule;
  for (Eigen::Index k = 0; k < size; ++k) {
    rule.locations.push_back(eigen.eigenvalues()[k]);
    rule.masses.push_back(std::pow(eigen.eigenvectors()(0, k), 2));
  }
  return rule;
}

DiscreteLaw flow_law(const Law& law) {
  constexpr int many = 64;
  const auto* atoms = std::get_if<DiscreteLaw>(&law);
  return atoms != nullptr ? *atoms : truncated_law(law, many);
}

JacobiCoefficients jacobi_coefficients(const Law& law, int order) {
  if (order < 1) throw InvalidParameter("order", std::to_string(order), "must be >= 1");
  if (const auto* wishart = std::get_if<WishartLaw>(&law)) {
    return wishart_coefficients(1 / std::sqrt(wishart->kappa0), wishart->kappa0, order);
  }
  if (const auto* atoms = std::get_if<DiscreteLaw>(&law)) return lanczos(*atoms, order);
  throw InvalidParameter("teacher", "semicircle", "must be a Wishart law or a list of eigenvalues");
}

JacobiCoefficients wishart_coefficients(double entry_variance, double kappa, int order) {
  JacobiCoefficients jacobi;
  jacobi.diagonal.assign(order, entry_variance * (1 + kappa));
  jacobi.diagonal[0] = entry_variance * kappa;
  jacobi.coupling.assign(order, entry_variance * std::sqrt(kappa));
  return jacobi;
}

namespace {

/// On the diagonal matrix of the atoms, from the vector of the roots of their masses.
JacobiCoefficients lanczos(const DiscreteLaw& law, int order) {
  const auto size = static_cast<Eigen::Index>(law.locations.size());
  const Eigen::Map<const Eigen::ArrayXd> x(law.locations.data(), size);
  const Eigen::Map<const Eigen::ArrayXd> masses(law.masses.data(), size);
  const double scale = x.abs().maxCoeff();
  const Eigen::Index most = std::min<Eigen::Index>(order, size);
  constexpr double negligible = 1e-13;
  JacobiCoefficients jacobi;
  Eigen::MatrixXd basis(size, most);
  Eigen::VectorXd next = masses.sqrt();
  next.normalize();
  for (Eigen::Index k = 0; k < most; ++k) {
    basis.col(k) = next;
    next = (x * basis.col(k).array()).matrix();
    jacobi.diagonal.push_back(basis.col(k).dot(next));
    for (int pass = 0; pass < 2; ++pass) {
      next -= basis.leftCols(k + 1) * (basis.leftCols(k + 1).transpose() * next);
    }
    const double norm = next.norm();
    jacobi.coupling.push_back(k + 1 < size && norm > negligible * scale ? norm : 0.0);
    if (jacobi.coupling.back() == 0) break;
    next /= norm;
  }
  return jacobi;
}

}  // namespace
}  // namespace qklab::dynamics
