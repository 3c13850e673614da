#include "plain_model.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "qklab/core/random.hpp"

namespace qklab::lab::plain {

Matrix tokens(const Problem& problem, std::uint64_t seed, long sample) {
  Matrix x(problem.tokens, problem.dimension);
  RandomStream stream(seed, Purpose::tokens, static_cast<std::uint64_t>(sample));
  for (double& entry : x.reshaped<Eigen::RowMajor>()) entry = stream.normal();
  return x;
}

Matrix scores(const Matrix& x, const Matrix& s) {
  const auto d = static_cast<double>(x.cols());
  const Eigen::Index tokens = x.rows();
  return (x * s * x.transpose() - s.trace() * Matrix::Identity(tokens, tokens)) / std::sqrt(d);
}

Matrix attention(const Problem& problem, const Matrix& h) {
  if (problem.activation == Activation::identity) return h;
  Matrix weights = (problem.beta * h).array().exp();
  for (Eigen::Index a = 0; a < h.rows(); ++a) weights.row(a) /= weights.row(a).sum();
  return weights;
}

Matrix noisy_attention(const Problem& problem, const Matrix& teacher, std::uint64_t seed, long sample) {
  Matrix h = scores(tokens(problem, seed, sample), teacher);
  RandomStream stream(seed, Purpose::noise_in, static_cast<std::uint64_t>(sample));
  for (int a = 0; a < problem.tokens; ++a) {
    for (int b = a; b < problem.tokens; ++b) {
      h(a, b) += std::sqrt(problem.noise_in * (a == b ? 2 : 1)) * stream.normal();
      h(b, a) = h(a, b);
    }
  }
  return attention(problem, h);
}

Matrix label(const Problem& problem, const Matrix& teacher, std::uint64_t seed, long sample) {
  Matrix y = noisy_attention(problem, teacher, seed, sample);
  double variance = problem.noise_out;
  if (problem.task == Task::seq2seq) {
    y = (y * tokens(problem, seed, sample)).eval();
    variance *= problem.dimension;
  }
  RandomStream stream(seed, Purpose::noise_out, static_cast<std::uint64_t>(sample));
  for (double& entry : y.reshaped<Eigen::RowMajor>()) entry += std::sqrt(variance) * stream.normal();
  return y;
}

double loss(const Problem& problem, const Matrix& teacher, const Matrix& student, std::uint64_t seed,
            long sample) {
  const Matrix x = tokens(problem, seed, sample);
  const Matrix y = label(problem, teacher, seed, sample);
  const Matrix prediction = attention(problem, scores(x, student));
  if (problem.task == Task::seq2lab) return (y - prediction).squaredNorm();
  const Eigen::MatrixXd basis = Eigen::HouseholderQR<Eigen::MatrixXd>(x.transpose()).householderQ() *
                                Eigen::MatrixXd::Identity(problem.dimension, problem.tokens);
  return (y * basis * basis.transpose() - prediction * x).squaredNorm() / problem.dimension;
}

Matrix student(const Problem& problem, const Matrix& parameters) {
  if (problem.parametrization == Parametrization::tied) return parameters * parameters.transpose();
  if (problem.parametrization == Parametrization::direct) return (parameters + parameters.transpose()) / 2;
  const Eigen::Index p = parameters.cols() / 2;
  return parameters.leftCols(p) * parameters.rightCols(p).transpose();
}

double penalty(const Problem& problem, const Matrix& parameters) {
  const double decay = problem.lambda / problem.dimension;
  if (problem.parametrization == Parametrization::tied) return decay * parameters.squaredNorm();
  if (problem.parametrization == Parametrization::direct) {
    return decay * student(problem, parameters).squaredNorm();
  }
  return decay / 2 * parameters.squaredNorm();
}

double objective(const Problem& problem, const Matrix& teacher, const Matrix& parameters,
                 std::uint64_t seed) {
  const double d = problem.dimension;
  const Matrix s = student(problem, parameters);
  double total = 0;
  for (long sample = 0; sample < sample_count(problem); ++sample) {
    total += loss(problem, teacher, s, seed, sample);
  }
  return total / (d * d) + penalty(problem, parameters);
}

}  // namespace qklab::lab::plain
