#include "matrix_student.hpp"

namespace qklab::lab {
namespace {

Problem without_penalty(Problem problem);

/// Any S: h_ab = (x_a . S x_b - delta_ab Tr S)/sqrt d for every ordered pair, Z = X S^T, M_a = sum_b G_ab
/// x_b, and the gradient in S is X^T M.
template <class Real>
class AnyMatrix final : public Student<Real> {
 public:
  explicit AnyMatrix(const Problem& problem) : Student<Real>(without_penalty(problem), ScoreLayout::full) {}

  void load(std::span<const double> entries, std::span<Real> matrix) const override {
    Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
        matrix.data(), this->dimension(), this->dimension()) =
        square(entries).transpose().template cast<Real>();
  }

  double trace(std::span<const double> entries) const override { return square(entries).trace(); }

  double penalty(std::span<const double> /*entries*/) const override { return 0; }

  void scores(int count, const Real* x, const Real* z, double trace, double* scores) const override {
    const int d = this->dimension();
    row_scores<Real>(this->block(count, d), {x, d}, {z, d}, trace, this->score_scale(), scores);
  }

  void mix(int count, const double* slopes, const Real* x, const Real* /*z*/, Real* mixed) const override {
    const int d = this->dimension();
    mix_rows<Real>(this->block(count, d), Factor::left, slopes, {x, d}, {mixed, d});
  }

  void finish(std::span<const double> /*entries*/, double scale, double trace_slope,
              std::span<double> gradient) const override {
    Eigen::Map<Matrix> result(gradient.data(), this->dimension(), this->dimension());
    result *= scale;
    result.diagonal().array() -= scale * trace_slope;
  }

 private:
  Eigen::Map<const Matrix> square(std::span<const double> entries) const {
    return {entries.data(), this->dimension(), this->dimension()};
  }
};

/// A direct student has d columns.
Problem without_penalty(Problem problem) {
  problem.parametrization = Parametrization::direct;
  problem.kappa = 1;
  problem.lambda = 0;
  return problem;
}

}  // namespace

ScoreLayout matrix_layout(const Problem& problem) {
  const bool ordered = problem.parametrization == Parametrization::untied && problem.tokens > 1;
  return ordered ? ScoreLayout::full : ScoreLayout::pairs;
}

template <class Real>
std::shared_ptr<const Student<Real>> make_matrix_student(const Problem& problem) {
  if (matrix_layout(problem) == ScoreLayout::full) return std::make_shared<AnyMatrix<Real>>(problem);
  return make_student<Real>(without_penalty(problem));
}

template std::shared_ptr<const Student<float>> make_matrix_student(const Problem&);
template std::shared_ptr<const Student<double>> make_matrix_student(const Problem&);

}  // namespace qklab::lab
