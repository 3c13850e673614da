#include "qklab/lab/message_passing/posterior_mean.hpp"

#include <algorithm>
#include <complex>
#include <vector>

#include "lab/matrix/spectral_function.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/spectra/free_convolution.hpp"

namespace qklab::lab {

PosteriorMean wishart_posterior_mean(const Matrix& x, double kappa0, double delta) {
  constexpr double least_noise = 1e-7;
  const FreeConvolution mu(WishartLaw{kappa0}, delta > 0 ? std::max(delta, least_noise) : delta);
  const double variance = mu.delta() * mu.delta();
  const Modes modes = symmetric_modes(x);
  std::vector<double> images;
  std::vector<double> slopes;
  for (double level : modes.values) {
    // x = omega + delta^2 G0(omega), so that x - 2 delta^2 H = 2 Re omega - x.
    const std::complex<double> omega = mu.subordination(level);
    const std::complex<double> slope = stieltjes_and_derivative(mu.law(), omega).second;
    images.push_back(2 * omega.real() - level);
    slopes.push_back(2 * (1.0 / (1.0 + variance * slope)).real() - 1);
  }
  return {from_modes(modes.vectors, images), delta * delta * mean_response(modes.values, images, slopes)};
}

}  // namespace qklab::lab
