#include "state_evolution_map.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "qklab/core/standard_error.hpp"

namespace qklab::theory {
namespace {

constexpr double OutputExpectations::*const members[] = {
    &OutputExpectations::gradient_square,
    &OutputExpectations::teacher_divergence_stein,
    &OutputExpectations::student_divergence_stein,
    &OutputExpectations::teacher_divergence_implicit,
    &OutputExpectations::student_divergence_implicit,
    &OutputExpectations::jacobian_square,
    &OutputExpectations::loss,
    &OutputExpectations::unconverged,
    &OutputExpectations::competing,
};

Estimate estimate(const std::vector<OutputExpectations>& outputs, double OutputExpectations::*member) {
  std::vector<double> values;
  for (const OutputExpectations& output : outputs) values.push_back(output.*member);
  return mean_and_error(values);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Far from a solution the logarithms of an iterate can leave the range of doubles.
bool is_inside_domain(const OrderParameters& order) {
  return std::isfinite(order.overlap) && std::isfinite(order.orthogonal) && order.susceptibility > 0 &&
         std::isfinite(order.susceptibility);
}

}  // namespace

std::optional<Eigen::VectorXd> StateEvolutionMap::operator()(const Eigen::VectorXd& x) {
  if (!is_inside_domain(order_parameters(x))) return std::nullopt;
  const auto student = denoiser_(conjugates(mean_over_scramblings(output_side(x))));
  if (!student) return std::nullopt;
  const Eigen::VectorXd image = coordinates(student->order);
  return image.allFinite() ? std::optional(image) : std::nullopt;
}

std::optional<Observation> StateEvolutionMap::observation(const OutputExpectations& output,
                                                          double test_error_value) const {
  const ConjugateParameters hats = conjugates(output);
  std::optional<DenoisedStudent> student = denoiser_(hats);
  if (!student) return std::nullopt;
  Eigen::VectorXd values(observable_count);
  values[overlap_hat] = hats.overlap_hat;
  values[self_overlap_hat] = hats.self_overlap_hat;
  values[susceptibility_hat] = hats.susceptibility_hat;
  values[test_error] = test_error_value;
  values[train_loss] = problem_.alpha * output.loss;
  values[regularization] = student->penalty;
  values[zero_fraction_of_student] = zero_fraction(student->spectrum);
  // The response of S to its field: 1/Vhat for the threshold, 1/(Vhat + 4 lambda) for the ridge.
  const double response = student->spectrum.scale / hats.overlap_hat;
  values[stability] = 2 * problem_.alpha * output.jacobian_square * response * response *
                      divided_difference_norm(student->spectrum);
  return Observation{coordinates(student->order), values, std::move(*student)};
}

std::optional<std::vector<Observation>> StateEvolutionMap::observe(const Eigen::VectorXd& x) {
  if (!is_inside_domain(order_parameters(x))) return std::nullopt;
  std::vector<OutputExpectations> outputs = output_side(x);
  std::vector<double> errors = expectation_.test_error(overlaps(order_parameters(x)));
  outputs.insert(outputs.begin(), mean_over_scramblings(outputs));
  errors.insert(errors.begin(), mean(errors));
  std::vector<Observation> observations;
  for (std::size_t s = 0; s < outputs.size(); ++s) {
    std::optional<Observation> one = observation(outputs[s], errors[s]);
    if (!one) return std::nullopt;
    observations.push_back(std::move(*one));
  }
  return observations;
}

std::vector<OutputExpectations> StateEvolutionMap::output_side(const Eigen::VectorXd& x) {
  const OrderParameters order = order_parameters(x);
  return expectation_.evaluate(overlaps(order), order.susceptibility);
}

std::optional<std::vector<Observation>> StateEvolutionMap::observe_zero() {
  const ScoreOverlaps no_student{teacher_self_overlap_, 0, 0};
  std::vector<OutputExpectations> outputs = expectation_.evaluate_at_zero_susceptibility(no_student);
  std::vector<double> errors = expectation_.test_error(no_student);
  outputs.insert(outputs.begin(), mean_over_scramblings(outputs));
  errors.insert(errors.begin(), mean(errors));
  if (!denoiser_.answers_zero(conjugates(outputs.front()))) return std::nullopt;
  std::vector<Observation> observations;
  for (std::size_t s = 0; s < outputs.size(); ++s) {
    const ConjugateParameters hats = conjugates(outputs[s]);
    Eigen::VectorXd values = Eigen::VectorXd::Zero(observable_count);
    values[overlap_hat] = hats.overlap_hat;
    values[self_overlap_hat] = hats.self_overlap_hat;
    values[susceptibility_hat] = hats.susceptibility_hat;
    values[test_error] = errors[s];
    values[train_loss] = problem_.alpha * outputs[s].loss;
    values[zero_fraction_of_student] = 1;
    DenoisedStudent nothing;
    nothing.spectrum.teacher = denoiser_.teacher();
    observations.push_back({Eigen::VectorXd(), values, nothing});
  }
  return observations;
}

void StateEvolutionMap::choose_estimator(const Eigen::VectorXd& x) {
  const std::vector<OutputExpectations> outputs = output_side(x);
  const Estimate stein = estimate(outputs, &OutputExpectations::student_divergence_stein);
  const Estimate implicit = estimate(outputs, &OutputExpectations::student_divergence_implicit);
  const Estimate stein_teacher = estimate(outputs, &OutputExpectations::teacher_divergence_stein);
  const Estimate implicit_teacher = estimate(outputs, &OutputExpectations::teacher_divergence_implicit);
  // The errors of Stein's divergences and of E |g|^2 are correlated and largely cancel in the fixed point,
  // which makes them the better choice until recovery, where the matrix they divide by is nearly singular.
  constexpr double singular = 20;
  const bool jump_free = estimate(outputs, &OutputExpectations::competing).value == 0;
  const bool sharper = singular * (implicit.se + implicit_teacher.se) < stein.se + stein_teacher.se;
  estimator_ = jump_free && sharper ? DivergenceEstimator::implicit : DivergenceEstimator::stein;
}

ConjugateParameters StateEvolutionMap::conjugates(const OutputExpectations& output) const {
  const bool stein = estimator_ == DivergenceEstimator::stein;
  const double factor = 2 * problem_.alpha;
  return {factor * (stein ? output.teacher_divergence_stein : output.teacher_divergence_implicit),
          factor * output.gradient_square,
          -factor * (stein ? output.student_divergence_stein : output.student_divergence_implicit)};
}

Eigen::VectorXd StateEvolutionMap::coordinates(const OrderParameters& order) const {
  return Eigen::Vector3d(order.overlap / teacher_self_overlap_,
                         std::log(order.orthogonal / teacher_self_overlap_), std::log(order.susceptibility));
}

OrderParameters StateEvolutionMap::order_parameters(const Eigen::VectorXd& x) const {
  return {teacher_self_overlap_ * x[0], teacher_self_overlap_ * std::exp(x[1]), std::exp(x[2])};
}

double StateEvolutionMap::self_overlap(const OrderParameters& order) const {
  return overlaps(order).self_overlap();
}

ScoreOverlaps StateEvolutionMap::overlaps(const OrderParameters& order) const {
  return ScoreOverlaps::from_orthogonal(teacher_self_overlap_, order.overlap, order.orthogonal);
}

StateEvolutionMap::StateEvolutionMap(const Problem& problem, Denoiser denoiser, const QmcOptions& qmc)
    : problem_(problem),
      teacher_self_overlap_(teacher_self_overlap(problem)),
      denoiser_(std::move(denoiser)),
      expectation_(channel_of(problem), problem.noise_in, problem.noise_out, qmc) {}

bool StateEvolutionMap::serves(const Problem& problem) const {
  return problem.tokens == problem_.tokens && problem.activation == problem_.activation &&
         problem.beta == problem_.beta && problem.noise_in == problem_.noise_in &&
         problem.noise_out == problem_.noise_out;
}

void StateEvolutionMap::retarget(const Problem& problem) {
  problem_ = problem;
  teacher_self_overlap_ = teacher_self_overlap(problem);
  denoiser_.retarget(problem);
}

OutputExpectations mean_over_scramblings(const std::vector<OutputExpectations>& outputs) {
  OutputExpectations result;
  for (double OutputExpectations::*member : members) result.*member = estimate(outputs, member).value;
  return result;
}

}  // namespace qklab::theory
