#include <cmath>
#include <limits>

#include "bayes_channel.hpp"
#include "qklab/core/error.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/iterates.hpp"

namespace qklab::theory {
namespace {

Iterate iterate_at(BayesChannel& channel, double self_overlap, double error);

}  // namespace

std::vector<Iterate> bayes_iterates(const Problem& problem, double overlap, int iterations,
                                    const SolveOptions& options) {
  BayesChannel channel(options.qmc);
  channel.set(problem);
  const double self_overlap = teacher_self_overlap(problem);
  if (!(overlap >= 0 && overlap <= self_overlap)) {
    throw InvalidParameter("overlap", overlap, "the overlap q to start from must be in 0..Q0");
  }
  if (iterations < 0) throw InvalidParameter("iterations", iterations, "must be >= 0");
  std::vector<Iterate> path;
  double error = self_overlap - overlap;
  while (std::ssize(path) <= iterations && !options.stop.requested()) {
    path.push_back(iterate_at(channel, self_overlap, error));
    const double hat = path.back().hats.overlap_hat;
    error = std::isfinite(hat) ? wishart_denoising_error(channel.kappa0(), 1 / std::sqrt(hat)) : 0;
  }
  return path;
}

namespace {

Iterate iterate_at(BayesChannel& channel, double self_overlap, double error) {
  const double overlap = self_overlap - error;
  const bool is_known = error == 0 && channel.noise() == 0;
  const double hat =
      is_known ? std::numeric_limits<double>::infinity() : mean_and_error(channel.overlap_hat(error)).value;
  const Estimate test_error = error == 0 ? Estimate{} : mean_and_error(channel.test_error(error));
  return {overlap, overlap, error, {hat, hat, hat}, test_error};
}

}  // namespace
}  // namespace qklab::theory
