#include "solution_report.hpp"

#include <cmath>
#include <optional>

#include "error_propagation.hpp"

namespace qklab::theory {
namespace {

void fill_diagnostics(const Eigen::VectorXd& x, StateEvolutionMap& map, Solution& solution);

}  // namespace

void fill_observables(const Eigen::VectorXd& x, StateEvolutionSamples& maps, Solution& solution) {
  const Problem& problem = solution.problem;
  const auto observations = maps.fine().observe(x);
  if (!observations) {
    solution.outcome = Outcome::diverged;
    return;
  }
  const Observation& mean = observations->front();
  const OrderParameters order = maps.fine().order_parameters(x);
  const bool sampled = problem.activation != Activation::identity && is_answer(solution.outcome);
  const std::optional<PropagatedErrors> errors =
      sampled ? std::optional(propagate_errors(x, *observations, maps.fine(), maps.coarse())) : std::nullopt;
  const auto with_error = [&](double value, Observable which) {
    return Estimate{value, errors ? standard_error(errors->observables.row(which)) : 0};
  };
  solution.overlap = {order.overlap, errors ? standard_error(errors->overlap) : 0};
  solution.self_overlap = {maps.fine().self_overlap(order),
                           errors ? standard_error(errors->self_overlap) : 0};
  solution.susceptibility = {order.susceptibility, errors ? standard_error(errors->susceptibility) : 0};
  solution.overlap_hat = with_error(mean.values[overlap_hat], overlap_hat);
  solution.self_overlap_hat = with_error(mean.values[self_overlap_hat], self_overlap_hat);
  solution.susceptibility_hat = with_error(mean.values[susceptibility_hat], susceptibility_hat);
  solution.test_error = with_error(mean.values[test_error], test_error);
  solution.train_loss = with_error(mean.values[train_loss], train_loss);
  solution.train_error = {solution.train_loss.value / problem.alpha, solution.train_loss.se / problem.alpha};
  solution.regularization = with_error(mean.values[regularization], regularization);
  solution.zero_fraction = with_error(mean.values[zero_fraction_of_student], zero_fraction_of_student);
  solution.stability = with_error(mean.values[stability], stability);
  solution.stable = solution.stability.value < 1;
  solution.spectrum = mean.student.spectrum;
  solution.edges = student_edges(solution.spectrum);
  fill_diagnostics(x, maps.fine(), solution);
}

Solution zero_solution(const Problem& problem, const std::vector<Observation>& zero) {
  Solution solution;
  solution.problem = problem;
  solution.outcome = Outcome::zero_solution;
  const auto with_error = [&](Observable which) {
    Eigen::VectorXd values(static_cast<Eigen::Index>(zero.size()) - 1);
    for (Eigen::Index s = 0; s < values.size(); ++s) values[s] = zero[s + 1].values[which];
    return Estimate{zero.front().values[which], standard_error(values)};
  };
  solution.overlap_hat = with_error(overlap_hat);
  solution.self_overlap_hat = with_error(self_overlap_hat);
  solution.susceptibility_hat = with_error(susceptibility_hat);
  solution.test_error = with_error(test_error);
  solution.train_loss = with_error(train_loss);
  solution.train_error = {solution.train_loss.value / problem.alpha, solution.train_loss.se / problem.alpha};
  solution.zero_fraction = {1, 0};
  solution.stable = true;
  solution.spectrum = zero.front().student.spectrum;
  return solution;
}

namespace {

void fill_diagnostics(const Eigen::VectorXd& x, StateEvolutionMap& map, Solution& solution) {
  const OutputExpectations output = mean_over_scramblings(map.output_side(x));
  solution.estimator_gap = std::abs(output.student_divergence_implicit / output.student_divergence_stein - 1);
  solution.competing_minima = output.competing;
  solution.unconverged_proximals = output.unconverged;
}

}  // namespace
}  // namespace qklab::theory
