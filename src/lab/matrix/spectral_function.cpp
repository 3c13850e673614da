#include "spectral_function.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "serial_blas.hpp"

namespace qklab::lab {

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

double mean_response(const std::vector<double>& levels, const std::vector<double>& images,
                     const std::vector<double>& slopes) {
  const std::size_t d = levels.size();
  const double close = 1e-12 * std::max(std::abs(levels.front()), std::abs(levels.back()));
  double sum = 0;
  for (std::size_t i = 0; i < d; ++i) {
    sum += slopes[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (images[i] == 0 && images[j] == 0) continue;
      const double gap = levels[i] - levels[j];
      sum += gap > close ? (images[i] - images[j]) / gap : 0.5 * (slopes[i] + slopes[j]);
    }
  }
  return 2 * sum / static_cast<double>(d * d);
}

}  // namespace qklab::lab
