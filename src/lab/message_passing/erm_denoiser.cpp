#include <algorithm>
#include <cmath>
#include <vector>

#include "amp_denoiser.hpp"
#include "lab/matrix/spectral_function.hpp"
#include "qklab/lab/matrix/measure.hpp"

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
  std::vector<double> slopes;
  for (double image : images) slopes.push_back(image != 0 ? 1 : 0);
  const double response = mean_response(modes.values, images, slopes);
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

}  // namespace
}  // namespace qklab::lab
