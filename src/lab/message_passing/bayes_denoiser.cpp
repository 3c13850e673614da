#include <cmath>
#include <variant>

#include "amp_denoiser.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/message_passing/posterior_mean.hpp"

namespace qklab::lab {
namespace {

/// R/Vhat = S0 + delta Z with delta = 1/sqrt(Vhat), (5.8).
class WishartPosterior final : public AmpDenoiser {
 public:
  explicit WishartPosterior(double kappa0) : kappa0_(kappa0) {}
  AmpStudent operator()(const Matrix& R, const AmpConjugates& hats) override;

 private:
  double kappa0_;
};

}  // namespace

std::unique_ptr<AmpDenoiser> bayes_denoiser(const Problem& problem) {
  const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher);
  if (wishart == nullptr) {
    throw InvalidParameter(
        "teacher", std::holds_alternative<PowerLawTeacher>(problem.teacher) ? "power-law" : "spectrum",
        "Bayes-optimal message passing knows the posterior of a wishart teacher");
  }
  return std::make_unique<WishartPosterior>(wishart->kappa0);
}

namespace {

AmpStudent WishartPosterior::operator()(const Matrix& R, const AmpConjugates& hats) {
  const double vhat = hats.susceptibility.symmetric;
  PosteriorMean mean = wishart_posterior_mean(R / vhat, kappa0_, 1 / std::sqrt(vhat));
  return {std::move(mean.matrix), {mean.variance, 0}};
}

}  // namespace
}  // namespace qklab::lab
