#pragma once

#include <limits>
#include <vector>

#include "qklab/dynamics/population/order_parameters.hpp"
#include "qklab/experiment/learning/dynamics.hpp"

namespace qklab::experiment {

/// One student along its times: one seed, or the limit d -> infinity. Points have errors only where
/// expectations are sampled.
struct Way {
  std::vector<DynamicsPoint> points;
  std::vector<lab::Escape> escapes;
  double teacher_self_overlap = 0;
  double teacher_trace = 0;
  double trusted_until = std::numeric_limits<double>::infinity();
  Outcome outcome = Outcome::converged;
};

/// That of a run of online descent.
Way way_of(const lab::OnlineRun& run);

/// By one of exact, truncated, words, direct (one way, the limit) and flow, fast, untied (a way a seed, from
/// the start and the teacher of that seed's run of sgd), at `times`.
std::vector<Way> theoretical_ways(Method method, const DynamicsProblem& problem,
                                  const DynamicsOptions& options, const std::vector<double>& times);

/// Mean order parameters of students at the start and of teachers, d -> infinity; mu of untied students under
/// uncentred scores is start/sqrt p, the standard deviation of it at width p = kappa d.
dynamics::OrderParameters mean_start(const DynamicsProblem& problem, double start,
                                     lab::DirectStart direct_start);

/// Whether ways are those of seeds, with matrices of size d.
bool has_seeds(Method method);

/// The options of the runs of sgd.
lab::OnlineSgdOptions descent_options(const DynamicsProblem& problem, const DynamicsOptions& options);

}  // namespace qklab::experiment
