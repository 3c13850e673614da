#include "state_evolution_samples.hpp"

namespace qklab::theory {

void StateEvolutionSamples::turn_to(const Problem& problem) {
  problem_ = problem;
  if (fine_ && redraw_ == 0 && fine_->serves(problem)) {
    retarget();
  } else {
    draw(0);
  }
}

void StateEvolutionSamples::turn_to_weight_decay(double lambda) {
  problem_.lambda = lambda;
  retarget();
}

void StateEvolutionSamples::retarget() {
  fine_->retarget(problem_);
  coarse_->retarget(problem_);
}

void StateEvolutionSamples::draw(int redraw) {
  redraw_ = redraw;
  const QmcOptions large = redrawn(options_.qmc, redraw);
  Denoiser matrix_side = fine_ ? fine_->denoiser() : Denoiser(problem_);
  matrix_side.retarget(problem_);
  fine_.emplace(problem_, matrix_side, large);
  coarse_.emplace(problem_, matrix_side, coarse_sampling(large));
}

/// The estimator is chosen near the fixed point, which a rough first answer by Stein's identity finds. A jump
/// of the small sample may hold up the second, which serves all the same.
FixedPoint StateEvolutionSamples::approach(const Eigen::VectorXd& start) {
  const auto map = [this](const Eigen::VectorXd& x) { return on_coarse(x); };
  FixedPointOptions goal{
      .tolerance = 1e-2, .max_evaluations = options_.max_iterations, .stop = options_.stop};
  coarse_->use(DivergenceEstimator::stein);
  FixedPoint rough = solve_fixed_point(map, start, goal);
  if (!is_answer(rough.outcome)) return rough;
  fine_->choose_estimator(rough.x);
  coarse_->use(fine_->estimator());
  goal.tolerance = 1e-5;
  FixedPoint point = solve_fixed_point(map, rough.x, goal);
  point.evaluations += rough.evaluations;
  point.outcome = Outcome::converged;
  return point;
}

double StateEvolutionSamples::competing(const Eigen::VectorXd& x) {
  return mean_over_scramblings(fine_->output_side(x)).competing;
}

}  // namespace qklab::theory
