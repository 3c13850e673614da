#pragma once

#include <string>
#include <variant>
#include <vector>

namespace qklab {

/// From scores to labels, sigma in docs/theory section 1. hardmax is the softmax of beta -> infinity: row a
/// holds one 1, at the largest h_ab.
enum class Activation { softmax, identity, hermite2, hermite3, hardmax };

/// seq2lab: the label is the T x T attention matrix. seq2seq: the label is the T x d mixed tokens.
enum class Task { seq2lab, seq2seq };

/// tied S = W W^T, direct S itself (symmetric), untied S = U V^T.
enum class Parametrization { tied, direct, untied };

/// S0 = W0 W0^T / sqrt(p0 d), W0 d x p0 with iid N(0, 1) entries; Tr(S0^2)/d -> 1 + kappa0.
struct WishartTeacher {
  double kappa0 = 0.5;  ///< rank ratio p0/d, > 0
};

/// Eigenvalues proportional to i^-gamma, i = 1..modes, the other d - modes are zero; Tr(S0^2)/d = 1.
struct PowerLawTeacher {
  double gamma = 1.0;  ///< > 1/2
  int modes = 0;       ///< 1..d; 0 stands for d
};

/// The d eigenvalues themselves, used as they are; Tr(S0^2)/d is their mean square.
struct SpectrumTeacher {
  std::string source;               ///< where they came from (a path), for messages
  std::vector<double> eigenvalues;  ///< >= 0, finite, not all zero
  std::string digest{};             ///< SHA-1 of the file they came from; empty without one
  int rounded_to_zero = 0;          ///< how many of them were negative by rounding where they came from
};

using Teacher = std::variant<WishartTeacher, PowerLawTeacher, SpectrumTeacher>;

/// One point of parameter space, the same for theory and for finite-size work (docs/theory section 1).
///
/// Objective: L(W) = (1/d^2) sum_mu ||y - sigma(h(W W^T))||_F^2 + (lambda/d) ||W||_F^2 over n = alpha d^2
/// samples.
struct Problem {
  double alpha = 1.0;  ///< samples per squared dimension, n/d^2, > 0
  int tokens = 2;      ///< T >= 1 (softmax and hardmax: T >= 2)
  Activation activation = Activation::softmax;
  double beta = 1.0;  ///< inverse temperature of the softmax, > 0
  Task task = Task::seq2lab;
  double noise_in = 0.0;   ///< variance of the noise on the scores, >= 0 (times 1 + delta_ab)
  double noise_out = 0.0;  ///< variance of the noise on the labels, >= 0
  Teacher teacher = WishartTeacher{};
  double kappa = 1.0;  ///< width ratio p/d of the student, > 0
  Parametrization parametrization = Parametrization::tied;
  double lambda = 0.01;  ///< weight decay, >= 0
  int dimension = 200;   ///< d, for finite-size work and for teachers given mode by mode
};

/// Returns `problem` if every parameter lies in its domain; throws InvalidParameter naming the first that
/// does not.
Problem checked(Problem problem);

/// Q0 = Tr(S0^2)/d of the teacher in the limit d -> infinity (Wishart) or at its d (lists).
double teacher_self_overlap(const Problem& problem);

/// (Tr S0^2)^2/Tr S0^4, the number of modes that make up the variance of a score; infinite for a Wishart
/// teacher. Scores have excess kurtosis 6 over it: with few effective modes they are not Gaussian at any d,
/// and what is nonlinear in them (softmax) is not exactly that of the theory (docs/theory section 1.1).
double effective_modes(const Problem& problem);

/// Width p = round(kappa d) of the student at finite size, at least 1.
int student_width(const Problem& problem);

/// Number of training samples n = round(alpha d^2) at finite size, at least 1.
long sample_count(const Problem& problem);

/// Eigenvalues of a power-law teacher: d values, descending, scaled to mean square 1.
std::vector<double> power_law_eigenvalues(const PowerLawTeacher& teacher, int dimension);

std::string to_string(Activation activation);
std::string to_string(Task task);
std::string to_string(Parametrization parametrization);

/// Inverse of to_string; throws InvalidParameter listing the allowed names.
Activation parse_activation(const std::string& name);
Task parse_task(const std::string& name);
Parametrization parse_parametrization(const std::string& name);

}  // namespace qklab
