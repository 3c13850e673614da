#include "qklab/theory/bayes_optimal.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "qklab/channel/output_expectation.hpp"
#include "qklab/core/error.hpp"
#include "qklab/spectra/free_convolution.hpp"

namespace qklab::theory {
namespace {

/// What the equation needs of a problem.
struct BayesProblem {
  double kappa0;
  double noise;    ///< Delta of (5.1)
  double samples;  ///< 2 alpha r
};

BayesProblem bayes_problem(const Problem& problem);
/// The root in log delta of (5.3), and what it took.
struct Root {
  double delta = 0;  ///< 0: S0 is recovered
  double residual = 0;
  int evaluations = 0;
};
Root find_noise_level(const BayesProblem& problem);
Estimate test_error(const Problem& problem, double overlap, double squared_error, const QmcOptions& qmc);
/// Twice the share of free entries of a symmetric matrix that one of rank kappa0 d has.
double free_share(double kappa0);

}  // namespace

BayesSolution solve_bayes(const Problem& problem, const SolveOptions& options) {
  constexpr double tolerance = 1e-9;
  const BayesProblem bayes = bayes_problem(problem);
  const Root root = find_noise_level(bayes);
  BayesSolution solution;
  solution.problem = problem;
  solution.squared_error = root.delta > 0 ? wishart_denoising_error(bayes.kappa0, root.delta) : 0;
  solution.overlap = teacher_self_overlap(problem) - solution.squared_error;
  solution.overlap_hat = 1 / (root.delta * root.delta);
  solution.test_error = test_error(problem, solution.overlap, solution.squared_error, options.qmc);
  solution.outcome = root.residual <= tolerance ? Outcome::converged : Outcome::stagnated;
  solution.iterations = root.evaluations;
  solution.residual = root.residual;
  return solution;
}

void require_bayes_reference(const Problem& problem) {
  bayes_problem(problem);
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
  const BayesProblem bayes = bayes_problem(problem);
  if (bayes.noise > 0) {
    throw InvalidParameter(problem.noise_in > 0 ? "noise_in" : "noise_out", bayes.noise,
                           "noise hides the target at any alpha: must be 0 for perfect recovery");
  }
  return free_share(bayes.kappa0) * problem.alpha / bayes.samples;
}

namespace {

BayesProblem bayes_problem(const Problem& problem) {
  checked(problem);
  const Channel channel = checked(channel_of(problem));
  const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher);
  if (wishart == nullptr) {
    throw InvalidParameter(
        "teacher", std::holds_alternative<PowerLawTeacher>(problem.teacher) ? "power-law" : "spectrum",
        "the Bayes-optimal reference is known for a wishart teacher");
  }
  if (channel.activation == Activation::softmax && problem.noise_out > 0) {
    throw InvalidParameter("noise_out", problem.noise_out,
                           "the Bayes-optimal reference of softmax labels is known without noise on them: "
                           "must be 0 (noise_in may be > 0)");
  }
  return {wishart->kappa0, problem.noise_in + problem.noise_out / 2,
          2 * problem.alpha * channel.score_dimension()};
}

double free_share(double kappa0) {
  const double rank = std::min(kappa0, 1.0);
  return rank * (2 - rank);
}

Root find_noise_level(const BayesProblem& problem) {
  constexpr double lowest = 1e-7;  // below it the law's own digits end
  if (problem.noise == 0 && problem.samples >= free_share(problem.kappa0)) return {};
  Root root;
  const auto mismatch = [&](double log_delta) {
    ++root.evaluations;
    const double delta = std::exp(log_delta);
    const double needed = wishart_denoising_error(problem.kappa0, delta) + problem.noise;
    return std::log(needed / (problem.samples * delta * delta));
  };
  double lo = std::log(lowest);
  double at_lo = mismatch(lo);
  if (at_lo <= 0) return {0, 0, root.evaluations};
  double hi = std::max(0.5 * std::log((1 + problem.kappa0 + problem.noise) / problem.samples), lo + 1);
  double at_hi = mismatch(hi);
  while (at_hi > 0) {
    lo = hi;
    at_lo = at_hi;
    hi += 1;
    at_hi = mismatch(hi);
  }
  std::uintmax_t most = 100;
  const auto [below, above] = boost::math::tools::toms748_solve(
      mismatch, lo, hi, at_lo, at_hi, boost::math::tools::eps_tolerance<double>(50), most);
  const double middle = below + (above - below) / 2;
  root.delta = std::exp(middle);
  root.residual = std::abs(mismatch(middle));
  return root;
}

Estimate test_error(const Problem& problem, double overlap, double squared_error, const QmcOptions& qmc) {
  if (squared_error == 0) return {0, 0};
  const double self_overlap = teacher_self_overlap(problem);
  // q - q^2/Q0 without cancellation, at m = q
  const ScoreOverlaps overlaps =
      ScoreOverlaps::from_orthogonal(self_overlap, overlap, overlap * squared_error / self_overlap);
  const OutputExpectation expectation(channel_of(problem), 0, 0, qmc);
  const Estimate error = mean_and_error(expectation.test_error(overlaps));
  return {error.value, problem.activation == Activation::identity ? 0 : error.se};
}

}  // namespace
}  // namespace qklab::theory
