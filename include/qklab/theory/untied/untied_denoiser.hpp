#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "qklab/core/problem.hpp"

namespace qklab::theory {

/// What describes an untied student S = S_s + S_a, symmetric and antisymmetric part (docs/theory section 8).
struct UntiedOrderParameters {
  double overlap = 0;                       ///< m = Tr(S S0)/d
  double orthogonal = 0;                    ///< q_s - m^2/Q0, q_s = Tr(S_s^2)/d
  double antisymmetric = 0;                 ///< q_a = Tr(S_a S_a^T)/d
  double symmetric_susceptibility = 0;      ///< V_s
  double antisymmetric_susceptibility = 0;  ///< V_a
};

/// Their conjugates: the matrix side sees R = mhat S0 + sqrt(qhat_s) Z_s + sqrt(qhat_a) Z_a.
struct UntiedConjugateParameters {
  double overlap_hat = 0;                       ///< mhat
  double symmetric_hat = 0;                     ///< qhat_s
  double antisymmetric_hat = 0;                 ///< qhat_a
  double symmetric_susceptibility_hat = 0;      ///< Vhat_s
  double antisymmetric_susceptibility_hat = 0;  ///< Vhat_a
};

/// The student that one sampled matrix gives.
struct UntiedStudent {
  UntiedOrderParameters order;
  double penalty = 0;        ///< lambda |S|_*/d
  double zero_fraction = 0;  ///< of the singular values of S
};

/// Minimiser over all matrices S of (Vhat_s |S_s|^2 + Vhat_a |S_a|^2)/2 - <R, S> + penalty |S|_*, equation
/// (8.8), by the Peaceman-Rachford splitting (8.10): a singular value threshold a step, linear convergence at
/// the rate (sqrt(c) - 1)/(sqrt(c) + 1), c the ratio of the curvatures.
struct NuclearProximal {
  Eigen::MatrixXd minimiser;        ///< S
  Eigen::VectorXd singular_values;  ///< of S, descending
  Eigen::MatrixXd state;            ///< of the splitting: the start of a neighbouring problem
  int iterations = 0;
  bool converged = false;
};

/// `state` is that of a neighbouring problem with the same curvatures to within a factor, or empty.
/// `curvatures` are > 0, `penalty` >= 0, R square. Throws InvalidParameter otherwise.
NuclearProximal nuclear_proximal(const Eigen::MatrixXd& R, double symmetric_curvature,
                                 double antisymmetric_curvature, double penalty,
                                 const Eigen::MatrixXd& state = {});

/// The matrix side of the state evolution of untied students, on sampled matrices with common random numbers:
/// a deterministic function of the conjugates.
///
/// The teacher's eigenvalues are the quantiles of its law (a list as it is), scaled to the exact Q0; Z_s and
/// Z_a are scaled to the exact mean squares and made orthogonal to S0, so that a linear denoiser would have
/// neither sampling error nor bias. What remains is a relative bias of about 0.5/dimension or less (section
/// 8.3).
class UntiedDenoiser {
 public:
  /// A list teacher needs as many eigenvalues as the dimension. Throws InvalidParameter for kappa < 1, lambda
  /// = 0, dimension < 2 or samples < 1.
  UntiedDenoiser(const Problem& problem, int dimension, int samples, std::uint64_t seed);

  /// One student for each sample; nothing unless all conjugates are > 0 and finite (qhat_a may be 0, and then
  /// V_a is NaN) and every minimisation converged. Keeps the last matrices as starts.
  std::optional<std::vector<UntiedStudent>> operator()(const UntiedConjugateParameters& hats);

  /// True when S = 0 answers the given conjugates: 2 lambda is above the mean largest singular value of R.
  bool answers_zero(const UntiedConjugateParameters& hats) const;

  /// (2/d^2) |dS_i/dR_j|_F^2 of each sample, i and j over symmetric (0) and antisymmetric (1), by differences
  /// along one random direction of each; the last call must have had the same conjugates. Nothing where that
  /// fails.
  std::optional<std::vector<Eigen::Matrix2d>> mean_square_responses(const UntiedConjugateParameters& hats);

  /// Singular values of S at the last call, all samples, ascending.
  std::vector<double> singular_values() const;

  /// Turns to a problem that differs in alpha, lambda and noise only.
  void retarget(const Problem& problem) { lambda_ = problem.lambda; }

  int dimension() const { return static_cast<int>(teacher_.size()); }
  int samples() const { return static_cast<int>(fields_.size()); }

 private:
  struct Field {
    Eigen::MatrixXd symmetric;      ///< Z_s
    Eigen::MatrixXd antisymmetric;  ///< Z_a
    NuclearProximal last;
  };

  Eigen::MatrixXd seen(const Field& field, const UntiedConjugateParameters& hats) const;
  UntiedStudent measure(const Field& field, const UntiedConjugateParameters& hats) const;
  std::optional<Eigen::Matrix2d> mean_square_response(std::size_t sample,
                                                      const UntiedConjugateParameters& hats) const;

  double lambda_;
  std::uint64_t seed_;
  double teacher_self_overlap_;
  Eigen::VectorXd teacher_;  ///< its eigenvalues; S0 is diagonal
  std::vector<Field> fields_;
};

}  // namespace qklab::theory
