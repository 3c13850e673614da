#include "untied_report.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "untied_errors.hpp"

namespace qklab::theory {
namespace {

/// Largest eigenvalue of the growth of squared perturbations, sector by sector, in one step (8.15).
Estimate stability(UntiedMap& map, double alpha, const std::vector<UntiedOutputExpectations>& outputs,
                   const UntiedConjugateParameters& hats);

}  // namespace

void fill_observables(const Eigen::VectorXd& x, UntiedSamples& maps, UntiedSolution& solution) {
  UntiedMap& map = maps.fine();
  const double alpha = solution.problem.alpha;
  UntiedSides sides{x, map.output_side(x), map.test_error(x), {}};
  const UntiedOutputExpectations output = mean(sides.outputs);
  const auto students = map.denoiser()(map.conjugates(output));
  if (!students) {
    solution.outcome = Outcome::diverged;
    return;
  }
  sides.students = *students;
  solution.singular_values = map.denoiser().singular_values();
  const UntiedReplicas all = replicas(sides, map, maps.coarse());
  const auto estimate = [&](const std::function<double(const UntiedVariables&)>& quantity) {
    const auto error = [&](const std::vector<UntiedVariables>& of) {
      std::vector<double> values;
      for (const UntiedVariables& one : of) values.push_back(quantity(one));
      return mean_and_error(values).se;
    };
    return Estimate{quantity(all.mean), std::hypot(error(all.of_scramblings), error(all.of_matrices))};
  };
  const auto order = [&](double UntiedOrderParameters::*member) {
    return estimate([&, member](const UntiedVariables& v) { return map.order_parameters(v.x).*member; });
  };
  const auto conjugate = [&](double UntiedConjugateParameters::*member) {
    return estimate([member](const UntiedVariables& v) { return v.hats.*member; });
  };
  const bool has_antisymmetric = map.size() == 5;
  solution.overlap = order(&UntiedOrderParameters::overlap);
  solution.symmetric_self_overlap = estimate(
      [&](const UntiedVariables& v) { return map.symmetric_self_overlap(map.order_parameters(v.x)); });
  solution.antisymmetric_self_overlap = order(&UntiedOrderParameters::antisymmetric);
  solution.symmetric_susceptibility = order(&UntiedOrderParameters::symmetric_susceptibility);
  solution.overlap_hat = conjugate(&UntiedConjugateParameters::overlap_hat);
  solution.symmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::symmetric_hat);
  solution.symmetric_susceptibility_hat = conjugate(&UntiedConjugateParameters::symmetric_susceptibility_hat);
  solution.antisymmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::antisymmetric_hat);
  const Estimate unknown{std::numeric_limits<double>::quiet_NaN(), 0};
  solution.antisymmetric_susceptibility =
      has_antisymmetric ? order(&UntiedOrderParameters::antisymmetric_susceptibility) : unknown;
  solution.antisymmetric_susceptibility_hat =
      has_antisymmetric ? conjugate(&UntiedConjugateParameters::antisymmetric_susceptibility_hat) : unknown;
  solution.test_error = estimate([](const UntiedVariables& v) { return v.test_error; });
  solution.train_error = estimate([](const UntiedVariables& v) { return v.loss; });
  solution.train_loss = {alpha * solution.train_error.value, alpha * solution.train_error.se};
  solution.regularization = estimate([](const UntiedVariables& v) { return v.penalty; });
  solution.zero_fraction = estimate([](const UntiedVariables& v) { return v.zero_fraction; });
  solution.stability = stability(map, alpha, sides.outputs, map.conjugates(output));
  solution.estimator_gap = std::abs(output.symmetric_divergence_implicit / output.symmetric_divergence - 1);
  solution.competing_minima = output.competing;
  solution.unconverged_proximals = output.unconverged;
}

UntiedSolution zero_solution(const Problem& problem, const UntiedMap& map, const UntiedMap::Zero& zero) {
  UntiedSolution solution;
  solution.problem = problem;
  solution.outcome = Outcome::zero_solution;
  solution.sampled_dimension = map.denoiser().dimension();
  solution.samples = map.denoiser().samples();
  const auto estimate = [&](const std::function<double(std::size_t)>& quantity) {
    std::vector<double> values;
    for (std::size_t s = 0; s < zero.outputs.size(); ++s) values.push_back(quantity(s));
    return mean_and_error(values);
  };
  const auto conjugate = [&](double UntiedConjugateParameters::*member) {
    return estimate([&, member](std::size_t s) { return map.conjugates(zero.outputs[s]).*member; });
  };
  solution.overlap_hat = conjugate(&UntiedConjugateParameters::overlap_hat);
  solution.symmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::symmetric_hat);
  solution.symmetric_susceptibility_hat = conjugate(&UntiedConjugateParameters::symmetric_susceptibility_hat);
  solution.antisymmetric_self_overlap_hat = conjugate(&UntiedConjugateParameters::antisymmetric_hat);
  solution.antisymmetric_susceptibility_hat =
      conjugate(&UntiedConjugateParameters::antisymmetric_susceptibility_hat);
  solution.test_error = estimate([&](std::size_t s) { return zero.test_errors[s]; });
  solution.train_error = estimate([&](std::size_t s) { return zero.outputs[s].loss; });
  solution.train_loss = {problem.alpha * solution.train_error.value, problem.alpha * solution.train_error.se};
  solution.zero_fraction = {1, 0};
  return solution;
}

namespace {

Estimate stability(UntiedMap& map, double alpha, const std::vector<UntiedOutputExpectations>& outputs,
                   const UntiedConjugateParameters& hats) {
  const auto responses = map.denoiser().mean_square_responses(hats);
  if (!responses) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const bool has_antisymmetric = map.size() == 5;
  const auto growth = [&](const UntiedOutputExpectations& output, const Eigen::Matrix2d& response) {
    Eigen::Matrix2d jacobian;
    jacobian << output.symmetric_jacobian, output.mixed_jacobian, output.mixed_jacobian,
        output.antisymmetric_jacobian;
    const Eigen::Matrix2d product = 2 * alpha * response * jacobian;
    if (!has_antisymmetric) return product(0, 0);
    const double half_trace = 0.5 * product.trace();
    return half_trace + std::sqrt(std::max(0.0, half_trace * half_trace - product.determinant()));
  };
  Eigen::Matrix2d mean_response = Eigen::Matrix2d::Zero();
  for (const Eigen::Matrix2d& one : *responses) mean_response += one / static_cast<double>(responses->size());
  std::vector<double> of_scramblings;
  for (const UntiedOutputExpectations& one : outputs) of_scramblings.push_back(growth(one, mean_response));
  std::vector<double> of_matrices;
  for (const Eigen::Matrix2d& one : *responses) of_matrices.push_back(growth(mean(outputs), one));
  return {growth(mean(outputs), mean_response),
          std::hypot(mean_and_error(of_scramblings).se, mean_and_error(of_matrices).se)};
}

}  // namespace
}  // namespace qklab::theory
