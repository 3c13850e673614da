#pragma once

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

namespace qklab {

/// What an attention-indexed model makes of its scores (docs/theory section 10.1 has each as an equation).
enum class Architecture {
  softmax,         ///< T x T matrix, softmax of each row
  linear,          ///< the scores themselves
  h1,              ///< single index: Hermite polynomial of degree 1 of one score
  h2,              ///< degree 2, x^2 - 1
  h3,              ///< degree 3, x^3 - 3x
  multi_head,      ///< weighted sum of the softmax matrices of the heads
  two_layer,       ///< attention-only transformer, one head a layer, residual stream
  autoregressive,  ///< next-token prediction under a causal mask
  multi_location,  ///< one attention row mixes values x_j^T S_2 x_j
  denoising        ///< matrix sensing, y = G_11 + noise
};

/// An attention-indexed model: output f(G) and label g(G0) + noise of the scores of K students and K0
/// teachers on T tokens, and the loss between them (docs/theory section 10.1).
///
/// Scores of a sample: G_ijk of ordered pairs of tokens (i, j) and head k is entry (k*T + i)*T + j. Tokens
/// are Gaussian with E x_i x_j^T = C_ij I_d. A label is a function of the teacher's scores plus noise of
/// variance noise_out on each of its output_count() numbers.
struct AttentionIndexedModel {
  Architecture architecture = Architecture::softmax;
  int tokens = 2;           ///< T
  int heads = 1;            ///< K, student matrices
  int teacher_heads = 1;    ///< K0, teacher matrices
  double beta = 1;          ///< inverse temperature of every softmax of the student, > 0
  double teacher_beta = 1;  ///< of the teacher, > 0
  double residual = 1;      ///< weight of the residual stream of two_layer
  bool centred = true;      ///< C_ij Tr S/sqrt d is subtracted from each score
  double noise_out = 0;     ///< Delta >= 0
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Identity(2, 2);  ///< C, T x T, positive semidefinite
  std::vector<double> head_weights{1};          ///< multi_head: weight of each student's matrix
  std::vector<double> teacher_head_weights{1};  ///< multi_head: weight of each teacher's matrix
  std::array<double, 3> series{1, 0,
                               0};  ///< single index: output sum_n series[n-1] He_n(G), He_n as h1, h2, h3
  std::array<double, 3> teacher_series{1, 0, 0};  ///< single index: label, the same of the teacher's score

  int score_count() const { return tokens * tokens * heads; }
  int teacher_score_count() const { return tokens * tokens * teacher_heads; }
  /// How many numbers the output has: T*T, or 1.
  int output_count() const;
  /// Position of the pair (i, j) of head k among the scores.
  int score(int i, int j, int k = 0) const { return (k * tokens + i) * tokens + j; }
};

/// What can be asked of a model by name; each architecture reads what it knows.
struct AttentionIndexedOptions {
  int tokens = 0;         ///< T; 0: the smallest that the architecture is usually run at (1, 2 or 3)
  int heads = 0;          ///< K, multi_head and two_layer (its layers); 0: 1, and 2 for these two
  int teacher_heads = 0;  ///< K0; 0: as many as the student
  double beta = 1;
  double teacher_beta = 0;  ///< 0: that of the student
  double residual = 1;
  double token_correlation = 0;  ///< c: C_ij = c between distinct tokens (autoregressive: c^|i-j|)
  bool centred = true;
  double noise_out = 0;
};

/// The model of that architecture. Single index reads G_12 where there are two tokens or more, else G_11.
/// Throws InvalidParameter for an option outside its domain.
AttentionIndexedModel attention_indexed_model(Architecture architecture,
                                              const AttentionIndexedOptions& options = {});

/// Returns `model` if every field lies in its domain; throws InvalidParameter naming the first that does not.
AttentionIndexedModel checked(AttentionIndexedModel model);

/// Orthonormal directions of the space of scores outside of which the loss is constant: columns, one set for
/// the student (score_count() rows), one for the teacher.
struct SeenScores {
  Eigen::MatrixXd student;
  Eigen::MatrixXd teacher;
};
SeenScores seen_scores(const AttentionIndexedModel& model);

/// Loss of each sample of a batch and its derivatives d loss/d G_ijk, vectorised over samples; Real is float
/// or double.
///
/// `student` and `teacher` hold a row of `count` values for each score, [score * count + sample];
/// `label_noise` holds output_count() rows of standard normals, or is null for labels without noise. Writes
/// `loss` (count values) and `gradient` (laid out like `student`).
template <class Real>
void loss_and_gradient(const AttentionIndexedModel& model, int count, const Real* student,
                       const Real* teacher, const Real* label_noise, Real* loss, Real* gradient);

/// Weighted sum over the samples of the second derivatives of the loss along seen directions: P^T (d^2
/// loss/dG dG) P and P^T (d^2 loss/dG dG0) P0 side by side, r x (r + r0), with P, P0 the directions of
/// `seen`. Layout of the batch as in loss_and_gradient; `weights` holds `count` values.
Eigen::MatrixXd curvature_sum(const AttentionIndexedModel& model, const SeenScores& seen, int count,
                              const double* student, const double* teacher, const double* label_noise,
                              const double* weights);

std::string to_string(Architecture architecture);
/// Inverse of to_string ("multi-head", "two-layer", ...); throws InvalidParameter listing the allowed names.
Architecture parse_architecture(const std::string& name);

}  // namespace qklab
