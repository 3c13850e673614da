#include <cblas.h>

#include <cmath>
#include <string>

#include "qklab/core/error.hpp"
#include "qklab/theory/untied/untied_denoiser.hpp"
#include "singular_values.hpp"

namespace qklab::theory {
namespace {

/// On the change of the state in one step, relative to its norm.
constexpr double tolerance = 1e-10;
constexpr int max_iterations = 500;

/// U diag((s - cut)_+) V^T with the singular values it has; false where LAPACK did not converge.
bool threshold(const Eigen::MatrixXd& matrix, double cut, NuclearProximal& result) {
  auto vectors = singular_vectors(matrix);
  if (!vectors) return false;
  result.singular_values = (vectors->values.array() - cut).max(0.0);
  const auto rank = static_cast<int>((result.singular_values.array() > 0).count());
  const auto d = static_cast<int>(result.singular_values.size());
  result.minimiser = Eigen::MatrixXd::Zero(d, d);
  if (rank == 0) return true;
  vectors->left.leftCols(rank) *= result.singular_values.head(rank).asDiagonal();
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, d, d, rank, 1.0, vectors->left.data(), d,
              vectors->right_transposed.data(), d, 0.0, result.minimiser.data(), d);
  return true;
}

void require_positive(const char* name, double value) {
  if (!(value > 0 && std::isfinite(value))) throw InvalidParameter(name, value, "must be > 0 and finite");
}

}  // namespace

NuclearProximal nuclear_proximal(const Eigen::MatrixXd& R, double symmetric_curvature,
                                 double antisymmetric_curvature, double penalty,
                                 const Eigen::MatrixXd& state) {
  require_positive("symmetric curvature", symmetric_curvature);
  require_positive("antisymmetric curvature", antisymmetric_curvature);
  if (!(penalty >= 0 && std::isfinite(penalty))) throw InvalidParameter("penalty", penalty, "must be >= 0");
  if (R.rows() != R.cols() || !R.allFinite()) {
    throw InvalidParameter("R", std::to_string(R.rows()) + " x " + std::to_string(R.cols()),
                           "must be square and finite");
  }
  // With this step the reflections of the symmetric and of the antisymmetric part contract alike, with
  // opposite signs: together they are a transposition.
  const double step = std::sqrt(symmetric_curvature * antisymmetric_curvature);
  const double contraction = (step - symmetric_curvature) / (step + symmetric_curvature);
  const double symmetric_gain = 1 / (symmetric_curvature + step);
  const double antisymmetric_gain = 1 / (antisymmetric_curvature + step);
  const Eigen::MatrixXd drive =
      (symmetric_gain + antisymmetric_gain) * R + (symmetric_gain - antisymmetric_gain) * R.transpose();

  NuclearProximal result;
  result.state = state.size() == R.size() ? state : drive;
  while (result.iterations < max_iterations && !result.converged) {
    ++result.iterations;
    if (!threshold(result.state, penalty / step, result)) break;
    const Eigen::MatrixXd reflected = 2 * result.minimiser - result.state;
    const Eigen::MatrixXd next = drive + contraction * reflected.transpose();
    const double change = (next - result.state).norm();
    result.converged = change <= tolerance * next.norm();
    result.state = next;
  }
  return result;
}

}  // namespace qklab::theory
