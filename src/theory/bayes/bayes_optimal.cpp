#include "qklab/theory/bayes/bayes_optimal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "bayes_channel.hpp"
#include "qklab/core/bracketed_root.hpp"
#include "qklab/core/error.hpp"
#include "qklab/spectra/free_convolution.hpp"

namespace qklab::theory {
namespace {

/// The root in log delta of (5.3) or (5.7), and what it took.
struct Root {
  double delta = 0;  ///< 0: S0 is recovered
  double residual = 0;
  int evaluations = 0;
};
/// `scrambling` < 0: of the mean over scramblings.
Root find_noise_level(BayesChannel& channel, int scrambling);
double error_at(const BayesChannel& channel, const Root& root);
/// Twice the share of free entries of a symmetric matrix that one of rank kappa0 d has.
double free_share(double kappa0);

}  // namespace

BayesSolver::BayesSolver(const SolveOptions& options)
    : channel_(std::make_unique<BayesChannel>(options.qmc)), options_(options) {}
BayesSolver::~BayesSolver() = default;
BayesSolver::BayesSolver(BayesSolver&&) noexcept = default;
BayesSolver& BayesSolver::operator=(BayesSolver&&) noexcept = default;

BayesSolution BayesSolver::solve(const Problem& problem) {
  constexpr double tolerance = 1e-9;
  BayesChannel& channel = *channel_;
  channel.set(problem);
  const Root root = find_noise_level(channel, -1);
  BayesSolution solution;
  solution.problem = problem;
  solution.squared_error = error_at(channel, root);
  solution.overlap = teacher_self_overlap(problem) - solution.squared_error;
  solution.overlap_hat = 1 / (root.delta * root.delta);
  solution.outcome = root.residual <= tolerance ? Outcome::converged : Outcome::stagnated;
  solution.iterations = root.evaluations;
  solution.residual = root.residual;
  if (solution.squared_error == 0) return solution;

  const std::vector<double> test_errors = channel.test_error(solution.squared_error);
  solution.test_error = mean_and_error(test_errors);
  if (channel.is_linear()) return solution;
  std::vector<double> errors;
  std::vector<double> hats;
  std::vector<double> moved_test_errors;
  for (int s = 0; s < options_.qmc.scramblings; ++s) {
    const Root one = find_noise_level(channel, s);
    errors.push_back(error_at(channel, one));
    hats.push_back(1 / (one.delta * one.delta));
    moved_test_errors.push_back(channel.test_error(errors.back())[s]);
  }
  solution.squared_error_se = mean_and_error(errors).se;
  solution.overlap_hat_se = mean_and_error(hats).se;
  solution.test_error.se = mean_and_error(moved_test_errors).se;
  return solution;
}

BayesSolution solve_bayes(const Problem& problem, const SolveOptions& options) {
  return BayesSolver(options).solve(problem);
}

void require_bayes_reference(const Problem& problem) {
  bayes_channel_of(problem);
}

double wishart_denoising_error(double kappa0, double delta) {
  const FreeConvolution mu(WishartLaw{kappa0}, delta);
  const double variance = delta * delta;
  const double self_overlap = 1 + kappa0;
  // Two forms of (5.2): the first keeps its digits where the error is a share of delta^2, the second where it
  // is a share of Q0.
  if (variance < self_overlap) {
    double cubed_density = 0;
    for (const SpectralNode& node : mu.nodes()) cubed_density += node.weight * node.density * node.density;
    return variance * (1 - 4 * std::numbers::pi * std::numbers::pi / 3 * variance * cubed_density);
  }
  double overlap = 0;
  for (const SpectralNode& node : mu.nodes()) {
    const double posterior_mean = node.x - 2 * variance * node.hilbert;
    overlap += node.weight * posterior_mean * posterior_mean;
  }
  return self_overlap - overlap;
}

double bayes_recovery_alpha(const Problem& problem) {
  const Channel channel = bayes_channel_of(problem);
  if (channel.activation == Activation::hardmax) {
    throw InvalidParameter("activation", to_string(channel.activation),
                           "any number of hardmax labels leaves the target in doubt");
  }
  if (problem.noise_in > 0 || problem.noise_out > 0) {
    throw InvalidParameter(problem.noise_in > 0 ? "noise_in" : "noise_out",
                           problem.noise_in + problem.noise_out / 2,
                           "noise hides the target at any alpha: must be 0 for perfect recovery");
  }
  return free_share(std::get<WishartTeacher>(problem.teacher).kappa0) / (2 * channel.score_dimension());
}

namespace {

double free_share(double kappa0) {
  const double rank = std::min(kappa0, 1.0);
  return rank * (2 - rank);
}

double error_at(const BayesChannel& channel, const Root& root) {
  return root.delta > 0 ? wishart_denoising_error(channel.kappa0(), root.delta) : 0;
}

Root find_noise_level(BayesChannel& channel, int scrambling) {
  const double lowest = std::log(1e-7);  // below it the law's own digits end
  const bool recovers = channel.is_linear() && channel.noise() == 0;
  if (recovers && channel.visible_samples() >= free_share(channel.kappa0())) return {};
  Root root;
  // log(1/(delta^2 qhat)): positive where the labels tell less than the noise level needs.
  const auto mismatch = [&](double log_delta) {
    ++root.evaluations;
    const double error = wishart_denoising_error(channel.kappa0(), std::exp(log_delta));
    const std::vector<double> hats = channel.overlap_hat(error);
    const double hat = scrambling < 0 ? mean_and_error(hats).value : hats[scrambling];
    return -2 * log_delta - std::log(hat);
  };
  double hi = 0.5 * std::log((1 + channel.kappa0() + channel.noise()) / channel.visible_samples());
  hi = std::max(hi, lowest + 1);
  double at_hi = mismatch(hi);
  while (at_hi > 0) {
    hi += 1;
    at_hi = mismatch(hi);
  }
  double lo = hi;
  double at_lo = at_hi;
  while (at_lo <= 0) {
    if (lo == lowest) return {0, 0, root.evaluations};
    hi = lo;
    at_hi = at_lo;
    lo = std::max(lo - 1, lowest);
    at_lo = mismatch(lo);
  }
  const double middle = bracketed_root(mismatch, lo, hi, at_lo, at_hi, 50);
  root.delta = std::exp(middle);
  root.residual = std::abs(mismatch(middle));
  return root;
}

}  // namespace
}  // namespace qklab::theory
