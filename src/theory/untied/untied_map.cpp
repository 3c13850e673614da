#include "untied_map.hpp"

#include <cmath>

namespace qklab::theory {
namespace {

constexpr double UntiedOutputExpectations::*const expectation_members[] = {
    &UntiedOutputExpectations::symmetric_square,
    &UntiedOutputExpectations::antisymmetric_square,
    &UntiedOutputExpectations::teacher_divergence,
    &UntiedOutputExpectations::symmetric_divergence,
    &UntiedOutputExpectations::antisymmetric_divergence,
    &UntiedOutputExpectations::teacher_divergence_implicit,
    &UntiedOutputExpectations::symmetric_divergence_implicit,
    &UntiedOutputExpectations::antisymmetric_divergence_implicit,
    &UntiedOutputExpectations::symmetric_jacobian,
    &UntiedOutputExpectations::mixed_jacobian,
    &UntiedOutputExpectations::antisymmetric_jacobian,
    &UntiedOutputExpectations::loss,
    &UntiedOutputExpectations::unconverged,
    &UntiedOutputExpectations::competing,
};

constexpr double UntiedOrderParameters::*const order_members[] = {
    &UntiedOrderParameters::overlap,
    &UntiedOrderParameters::orthogonal,
    &UntiedOrderParameters::antisymmetric,
    &UntiedOrderParameters::symmetric_susceptibility,
    &UntiedOrderParameters::antisymmetric_susceptibility,
};

}  // namespace

std::optional<Eigen::VectorXd> UntiedMap::operator()(const Eigen::VectorXd& x) {
  const auto students = denoiser_(conjugates(mean(output_side(x))));
  if (!students) return std::nullopt;
  const Eigen::VectorXd image = coordinates(mean(*students).order);
  return image.allFinite() ? std::optional(image) : std::nullopt;
}

std::vector<UntiedOutputExpectations> UntiedMap::output_side(const Eigen::VectorXd& x) {
  const UntiedOrderParameters order = order_parameters(x);
  return output_.evaluate(overlaps(order),
                          {order.symmetric_susceptibility, order.antisymmetric_susceptibility});
}

std::vector<double> UntiedMap::test_error(const Eigen::VectorXd& x) const {
  return output_.test_error(overlaps(order_parameters(x)));
}

UntiedConjugateParameters UntiedMap::conjugates(const UntiedOutputExpectations& output) const {
  const double factor = 2 * problem_.alpha;
  const double symmetric_susceptibility_hat = -factor * output.symmetric_divergence;
  if (!has_antisymmetric_) {
    // S is symmetric whatever curvature its antisymmetric part has; equal ones make one threshold of it.
    return {factor * output.teacher_divergence, factor * output.symmetric_square, 0,
            symmetric_susceptibility_hat, symmetric_susceptibility_hat};
  }
  return {factor * output.teacher_divergence, factor * output.symmetric_square,
          factor * output.antisymmetric_square, symmetric_susceptibility_hat,
          -factor * output.antisymmetric_divergence};
}

Eigen::VectorXd UntiedMap::coordinates(const UntiedOrderParameters& order) const {
  Eigen::VectorXd x(size());
  x.head(3) << order.overlap / teacher_self_overlap_, std::log(order.orthogonal / teacher_self_overlap_),
      std::log(order.symmetric_susceptibility);
  if (has_antisymmetric_) {
    x.tail(2) << std::log(order.antisymmetric / teacher_self_overlap_),
        std::log(order.antisymmetric_susceptibility);
  }
  return x;
}

UntiedOrderParameters UntiedMap::order_parameters(const Eigen::VectorXd& x) const {
  UntiedOrderParameters order{.overlap = teacher_self_overlap_ * x[0],
                              .orthogonal = teacher_self_overlap_ * std::exp(x[1]),
                              .symmetric_susceptibility = std::exp(x[2]),
                              .antisymmetric_susceptibility = std::exp(x[2])};
  if (has_antisymmetric_) {
    order.antisymmetric = teacher_self_overlap_ * std::exp(x[3]);
    order.antisymmetric_susceptibility = std::exp(x[4]);
  }
  return order;
}

double UntiedMap::symmetric_self_overlap(const UntiedOrderParameters& order) const {
  return overlaps(order).symmetric.self_overlap();
}

std::optional<UntiedMap::Zero> UntiedMap::zero() {
  const UntiedOverlaps nothing{ScoreOverlaps(teacher_self_overlap_, 0, 0), 0};
  Zero zero{output_.evaluate_at_zero_susceptibility(nothing), output_.test_error(nothing)};
  if (!denoiser_.answers_zero(conjugates(mean(zero.outputs)))) return std::nullopt;
  return zero;
}

UntiedOverlaps UntiedMap::overlaps(const UntiedOrderParameters& order) const {
  return {ScoreOverlaps::from_orthogonal(teacher_self_overlap_, order.overlap, order.orthogonal),
          order.antisymmetric};
}

UntiedMap::UntiedMap(const Problem& problem, const UntiedSampling& sampling)
    : problem_(problem),
      teacher_self_overlap_(teacher_self_overlap(problem)),
      has_antisymmetric_(problem.activation == Activation::softmax || problem.noise_out > 0),
      output_(channel_of(problem), problem.noise_in, problem.noise_out, sampling.qmc),
      denoiser_(problem, sampling.dimension, sampling.samples, sampling.qmc.seed) {}

void UntiedMap::retarget(const Problem& problem) {
  problem_ = problem;
  denoiser_.retarget(problem);
}

UntiedOutputExpectations mean(const std::vector<UntiedOutputExpectations>& outputs) {
  UntiedOutputExpectations result;
  for (const UntiedOutputExpectations& output : outputs) {
    for (auto member : expectation_members) {
      result.*member += output.*member / static_cast<double>(outputs.size());
    }
  }
  return result;
}

UntiedStudent mean(const std::vector<UntiedStudent>& students) {
  const auto count = static_cast<double>(students.size());
  UntiedStudent result;
  for (const UntiedStudent& student : students) {
    for (auto member : order_members) result.order.*member += student.order.*member / count;
    result.penalty += student.penalty / count;
    result.zero_fraction += student.zero_fraction / count;
  }
  return result;
}

}  // namespace qklab::theory
