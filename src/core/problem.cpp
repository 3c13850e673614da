#include "qklab/core/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

void require_positive(const char* name, double value, const char* what) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw InvalidParameter(name, value, std::string(what) + " must be > 0 and finite");
  }
}

void require_non_negative(const char* name, double value, const char* what) {
  if (!(value >= 0) || !std::isfinite(value)) {
    throw InvalidParameter(name, value, std::string(what) + " must be >= 0 and finite");
  }
}

void check(const WishartTeacher& teacher, int /*dimension*/) {
  require_positive("kappa0", teacher.kappa0, "the target's rank ratio");
}

void check(const PowerLawTeacher& teacher, int dimension) {
  if (!(teacher.gamma > 0.5) || !std::isfinite(teacher.gamma)) {
    throw InvalidParameter("gamma", teacher.gamma, "the power-law exponent must be > 1/2 and finite");
  }
  if (teacher.modes < 0 || teacher.modes > dimension) {
    throw InvalidParameter("modes", teacher.modes,
                           "the number of modes must be in 1..dimension = " + std::to_string(dimension));
  }
}

void check(const SpectrumTeacher& teacher, int dimension) {
  if (teacher.eigenvalues.empty()) {
    throw InvalidParameter("teacher", "spectrum:" + teacher.source,
                           "the list of eigenvalues must not be empty");
  }
  if (std::ssize(teacher.eigenvalues) != dimension) {
    throw InvalidParameter("dimension", dimension,
                           "a spectrum teacher fixes it to its number of eigenvalues, " +
                               std::to_string(teacher.eigenvalues.size()));
  }
  bool all_zero = true;
  for (double s : teacher.eigenvalues) {
    require_non_negative("teacher eigenvalue", s, "an eigenvalue of a positive semidefinite teacher");
    all_zero = all_zero && s == 0;
  }
  if (all_zero) {
    throw InvalidParameter("teacher", "spectrum:" + teacher.source, "at least one eigenvalue must be > 0");
  }
}

}  // namespace

Problem checked(Problem problem) {
  require_positive("alpha", problem.alpha, "the sample ratio n/d^2");
  if (problem.dimension < 1) {
    throw InvalidParameter("dimension", problem.dimension, "the dimension d must be >= 1");
  }
  if (problem.tokens < 1) {
    throw InvalidParameter("tokens", problem.tokens, "the number of tokens T must be >= 1");
  }
  const bool is_softmax = problem.activation == Activation::softmax;
  if ((is_softmax || problem.activation == Activation::hardmax) && problem.tokens < 2) {
    throw InvalidParameter(
        "tokens", problem.tokens,
        "the " + to_string(problem.activation) + " of one token is constant: T must be >= 2");
  }
  if (is_softmax) require_positive("beta", problem.beta, "the inverse temperature");
  require_non_negative("noise_in", problem.noise_in, "the variance of the noise on the scores");
  require_non_negative("noise_out", problem.noise_out, "the variance of the noise on the labels");
  require_positive("kappa", problem.kappa, "the student's width ratio p/d");
  require_non_negative("lambda", problem.lambda, "the weight decay");
  std::visit([&](const auto& teacher) { check(teacher, problem.dimension); }, problem.teacher);
  return problem;
}

double teacher_self_overlap(const Problem& problem) {
  if (const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher)) return 1 + wishart->kappa0;
  if (std::holds_alternative<PowerLawTeacher>(problem.teacher)) return 1;
  const auto& eigenvalues = std::get<SpectrumTeacher>(problem.teacher).eigenvalues;
  return std::inner_product(eigenvalues.begin(), eigenvalues.end(), eigenvalues.begin(), 0.0) /
         static_cast<double>(eigenvalues.size());
}

double effective_modes(const Problem& problem) {
  if (std::holds_alternative<WishartTeacher>(problem.teacher)) return std::numeric_limits<double>::infinity();
  const auto* power = std::get_if<PowerLawTeacher>(&problem.teacher);
  const std::vector<double> eigenvalues = power != nullptr
                                              ? power_law_eigenvalues(*power, problem.dimension)
                                              : std::get<SpectrumTeacher>(problem.teacher).eigenvalues;
  double square = 0;
  double fourth = 0;
  for (double s : eigenvalues) {
    square += s * s;
    fourth += s * s * s * s;
  }
  return square * square / fourth;
}

int student_width(const Problem& problem) {
  return std::max(1, static_cast<int>(std::lround(problem.kappa * problem.dimension)));
}

long sample_count(const Problem& problem) {
  return std::max(1L, std::lround(problem.alpha * problem.dimension * problem.dimension));
}

std::vector<double> power_law_eigenvalues(const PowerLawTeacher& teacher, int dimension) {
  const int modes = teacher.modes == 0 ? dimension : teacher.modes;
  std::vector<double> eigenvalues(static_cast<std::size_t>(dimension), 0.0);
  double square_sum = 0;
  for (int i = 0; i < modes; ++i) {
    eigenvalues[i] = std::pow(i + 1.0, -teacher.gamma);
    square_sum += eigenvalues[i] * eigenvalues[i];
  }
  const double scale = std::sqrt(dimension / square_sum);
  for (double& s : eigenvalues) s *= scale;
  return eigenvalues;
}

std::string to_string(Activation activation) {
  switch (activation) {
    case Activation::softmax:
      return "softmax";
    case Activation::identity:
      return "identity";
    case Activation::hermite2:
      return "hermite2";
    case Activation::hermite3:
      return "hermite3";
    case Activation::hardmax:
      return "hardmax";
  }
  return "unknown";
}

std::string to_string(Task task) {
  return task == Task::seq2lab ? "seq2lab" : "seq2seq";
}

std::string to_string(Parametrization parametrization) {
  switch (parametrization) {
    case Parametrization::tied:
      return "tied";
    case Parametrization::direct:
      return "direct";
    case Parametrization::untied:
      return "untied";
  }
  return "unknown";
}

Activation parse_activation(const std::string& name) {
  return parse_choice("activation", name,
                      {Activation::softmax, Activation::identity, Activation::hermite2, Activation::hermite3,
                       Activation::hardmax});
}

Task parse_task(const std::string& name) {
  return parse_choice("task", name, {Task::seq2lab, Task::seq2seq});
}

Parametrization parse_parametrization(const std::string& name) {
  return parse_choice("parametrization", name,
                      {Parametrization::tied, Parametrization::direct, Parametrization::untied});
}

}  // namespace qklab
