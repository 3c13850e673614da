#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "amp_denoiser.hpp"
#include "qklab/lab/measure.hpp"
#include "serial_blas.hpp"

namespace qklab::lab {
namespace {

/// Weight decay on S: S = R/(Vhat + 4 lambda).
class Shrink final : public AmpDenoiser {
 public:
  explicit Shrink(double lambda) : lambda_(lambda) {}
  AmpStudent operator()(const Matrix& R, const AmpConjugates& hats) override;

 private:
  double lambda_;
};

/// Weight decay on factors: a threshold on the eigenvalues of R.
class Threshold final : public AmpDenoiser {
 public:
  /// Keeps `width` eigenvalues at most, and negative ones where `both_signs`.
  Threshold(double penalty, int width, bool both_signs)
      : penalty_(penalty), width_(width), both_signs_(both_signs) {}
  AmpStudent operator()(const Matrix& R, const AmpConjugates& hats) override;

 private:
  /// f(r), the eigenvalue of S times Vhat.
  std::vector<double> thresholded(const std::vector<double>& levels) const;

  double penalty_;
  int width_;
  bool both_signs_;
};

/// U diag(values) U^T from the columns of U whose value is not zero.
Matrix from_modes(const Eigen::MatrixXd& vectors, const std::vector<double>& values);

/// (2/d^2) tr df/dR over symmetric matrices: the divided differences of f over all pairs of levels.
double mean_response(const std::vector<double>& levels, const std::vector<double>& images);

}  // namespace

std::unique_ptr<AmpDenoiser> erm_denoiser(const Problem& problem) {
  switch (problem.parametrization) {
    case Parametrization::direct:
      return std::make_unique<Shrink>(problem.lambda);
    case Parametrization::tied:
      return std::make_unique<Threshold>(2 * problem.lambda, student_width(problem), false);
    case Parametrization::untied:
      return std::make_unique<Threshold>(2 * problem.lambda, student_width(problem), true);
  }
  return nullptr;
}

namespace {

AmpStudent Shrink::operator()(const Matrix& R, const AmpConjugates& hats) {
  const double gain = 1 / (hats.susceptibility.symmetric + 4 * lambda_);
  const auto d = static_cast<double>(R.rows());
  return {gain * R, {gain * (d + 1) / d, 0}};
}

AmpStudent Threshold::operator()(const Matrix& R, const AmpConjugates& hats) {
  const double vhat = hats.susceptibility.symmetric;
  const Modes modes = symmetric_modes(R);
  std::vector<double> images = thresholded(modes.values);
  const double response = mean_response(modes.values, images);
  for (double& image : images) image /= vhat;
  return {from_modes(modes.vectors, images), {response / vhat, 0}};
}

std::vector<double> Threshold::thresholded(const std::vector<double>& levels) const {
  std::vector<double> images(levels.size(), 0.0);
  const auto d = static_cast<int>(levels.size());
  for (int i = 0; i < d; ++i) {
    const bool among_largest = i >= d - width_;
    const double size = std::abs(levels[i]) - penalty_;
    if (size <= 0 || !(both_signs_ || (levels[i] > 0 && among_largest))) continue;
    images[i] = std::copysign(size, levels[i]);
  }
  return images;
}

Matrix from_modes(const Eigen::MatrixXd& vectors, const std::vector<double>& values) {
  const SerialBlas serial;
  const auto d = static_cast<int>(vectors.rows());
  Matrix result = Matrix::Zero(d, d);
  Eigen::MatrixXd scaled(d, d);
  for (const double sign : {1.0, -1.0}) {
    int columns = 0;
    for (int i = 0; i < d; ++i) {
      if (sign * values[i] > 0) scaled.col(columns++) = std::sqrt(sign * values[i]) * vectors.col(i);
    }
    if (columns == 0) continue;
    // The upper triangle of a column-major matrix is the lower one of a row-major matrix.
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, d, columns, sign, scaled.data(), d, 1.0,
                result.data(), d);
  }
  result.triangularView<Eigen::StrictlyUpper>() = result.transpose();
  return result;
}

double mean_response(const std::vector<double>& levels, const std::vector<double>& images) {
  const std::size_t d = levels.size();
  const double close = 1e-12 * std::max(std::abs(levels.front()), std::abs(levels.back()));
  double sum = 0;
  for (std::size_t i = 0; i < d; ++i) {
    sum += images[i] != 0 ? 1 : 0;  // f' on the diagonal
    for (std::size_t j = 0; j < i; ++j) {
      if (images[i] == 0 && images[j] == 0) continue;
      const double gap = levels[i] - levels[j];
      sum += gap > close ? (images[i] - images[j]) / gap : 1.0;
    }
  }
  return 2 * sum / static_cast<double>(d * d);
}

}  // namespace
}  // namespace qklab::lab
