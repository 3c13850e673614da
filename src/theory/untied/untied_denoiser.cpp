#include "qklab/theory/untied/untied_denoiser.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/spectra/free_convolution.hpp"
#include "singular_values.hpp"

namespace qklab::theory {
namespace {

/// Quantiles of the law of the teacher's eigenvalues in `dimension` places, scaled to the mean square Q0.
Eigen::VectorXd teacher_eigenvalues(const Problem& problem, int dimension) {
  Eigen::VectorXd eigenvalues = Eigen::VectorXd::Zero(dimension);
  if (const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher)) {
    // A noise too small to matter, which the distribution function asks for.
    const FreeConvolution law(WishartLaw{wishart->kappa0}, 1e-4);
    const double carried = std::min(1.0, wishart->kappa0);
    const int rank = std::max(1, static_cast<int>(std::lround(carried * dimension)));
    for (int i = 0; i < rank; ++i) eigenvalues[i] = law.upper_quantile(carried * (i + 0.5) / rank);
  } else {
    const std::vector<double> list =
        std::holds_alternative<PowerLawTeacher>(problem.teacher)
            ? power_law_eigenvalues(std::get<PowerLawTeacher>(problem.teacher), problem.dimension)
            : std::get<SpectrumTeacher>(problem.teacher).eigenvalues;
    if (std::ssize(list) != dimension) {
      throw InvalidParameter("sampled dimension", std::to_string(dimension),
                             "a teacher given mode by mode needs its own, " + std::to_string(list.size()));
    }
    eigenvalues = Eigen::Map<const Eigen::VectorXd>(list.data(), dimension);
  }
  return eigenvalues * std::sqrt(teacher_self_overlap(problem) * dimension / eigenvalues.squaredNorm());
}

Eigen::MatrixXd gaussian(int dimension, std::uint64_t seed, int sample) {
  Eigen::MatrixXd matrix(dimension, dimension);
  RandomStream(seed, Purpose::probe, static_cast<std::uint64_t>(sample))
      .fill_normal(std::span(matrix.data(), static_cast<std::size_t>(matrix.size())));
  return matrix;
}

bool is_usable(const UntiedConjugateParameters& hats) {
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  return positive(hats.overlap_hat) && positive(hats.symmetric_hat) &&
         positive(hats.symmetric_susceptibility_hat) && positive(hats.antisymmetric_susceptibility_hat) &&
         hats.antisymmetric_hat >= 0 && std::isfinite(hats.antisymmetric_hat);
}

}  // namespace

UntiedDenoiser::UntiedDenoiser(const Problem& problem, int dimension, int samples, std::uint64_t seed)
    : lambda_(problem.lambda), seed_(seed), teacher_self_overlap_(qklab::teacher_self_overlap(problem)) {
  if (problem.kappa < 1) {
    throw InvalidParameter("kappa", problem.kappa,
                           "with untied weights of several tokens the rank must not be limited: >= 1");
  }
  if (!(problem.lambda > 0)) {
    throw InvalidParameter("lambda", problem.lambda, "with untied weights of several tokens: must be > 0");
  }
  if (dimension < 2) throw InvalidParameter("sampled dimension", dimension, "must be >= 2");
  if (samples < 1) throw InvalidParameter("samples", samples, "must be >= 1");
  teacher_ = teacher_eigenvalues(problem, dimension);
  for (int k = 0; k < samples; ++k) {
    const Eigen::MatrixXd g = gaussian(dimension, seed, k);
    Field field{g + g.transpose(), g - g.transpose(), {}};
    field.symmetric.diagonal() -=
        teacher_ * (teacher_.dot(field.symmetric.diagonal()) / teacher_.squaredNorm());
    field.symmetric *= std::sqrt(static_cast<double>(dimension)) / field.symmetric.norm();
    field.antisymmetric *= std::sqrt(static_cast<double>(dimension)) / field.antisymmetric.norm();
    fields_.push_back(std::move(field));
  }
}

std::optional<std::vector<UntiedStudent>> UntiedDenoiser::operator()(const UntiedConjugateParameters& hats) {
  if (!is_usable(hats)) return std::nullopt;
  std::vector<UntiedStudent> students(fields_.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    Field& field = fields_[k];
    field.last = nuclear_proximal(seen(field, hats), hats.symmetric_susceptibility_hat,
                                  hats.antisymmetric_susceptibility_hat, 2 * lambda_, field.last.state);
    students[k] = measure(field, hats);
  }
  const bool converged =
      std::ranges::all_of(fields_, [](const Field& field) { return field.last.converged; });
  return converged ? std::optional(std::move(students)) : std::nullopt;
}

bool UntiedDenoiser::answers_zero(const UntiedConjugateParameters& hats) const {
  double sum = 0;
  for (const Field& field : fields_) sum += largest_singular_value(seen(field, hats));
  return sum / static_cast<double>(fields_.size()) <= 2 * lambda_;
}

std::optional<std::vector<Eigen::Matrix2d>> UntiedDenoiser::mean_square_responses(
    const UntiedConjugateParameters& hats) {
  std::vector<std::optional<Eigen::Matrix2d>> found(fields_.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t k = 0; k < fields_.size(); ++k) found[k] = mean_square_response(k, hats);
  std::vector<Eigen::Matrix2d> responses;
  for (const auto& one : found) {
    if (!one) return std::nullopt;
    responses.push_back(*one);
  }
  return responses;
}

std::optional<Eigen::Matrix2d> UntiedDenoiser::mean_square_response(
    std::size_t sample, const UntiedConjugateParameters& hats) const {
  const Field& field = fields_[sample];
  const auto d = static_cast<double>(dimension());
  const Eigen::MatrixXd g = gaussian(dimension(), seed_, static_cast<int>(sample + fields_.size()));
  const Eigen::MatrixXd R = seen(field, hats);
  const double step = 1e-4 * R.norm() / std::sqrt(d);
  Eigen::Matrix2d response;
  for (int j = 0; j < 2; ++j) {
    Eigen::MatrixXd direction = g + (j == 0 ? 1.0 : -1.0) * g.transpose();
    direction *= step * std::sqrt(d) / direction.norm();
    const NuclearProximal moved =
        nuclear_proximal(R + direction, hats.symmetric_susceptibility_hat,
                         hats.antisymmetric_susceptibility_hat, 2 * lambda_, field.last.state);
    if (!moved.converged) return std::nullopt;
    const Eigen::MatrixXd change = (moved.minimiser - field.last.minimiser) / step;
    const Eigen::MatrixXd transposed = change.transpose();
    response(0, j) = 0.25 * (change + transposed).squaredNorm() / d;
    response(1, j) = 0.25 * (change - transposed).squaredNorm() / d;
  }
  return response;
}

std::vector<double> UntiedDenoiser::singular_values() const {
  std::vector<double> values;
  for (const Field& field : fields_) {
    values.insert(values.end(), field.last.singular_values.begin(), field.last.singular_values.end());
  }
  std::ranges::sort(values);
  return values;
}

Eigen::MatrixXd UntiedDenoiser::seen(const Field& field, const UntiedConjugateParameters& hats) const {
  Eigen::MatrixXd R = std::sqrt(hats.symmetric_hat) * field.symmetric +
                      std::sqrt(hats.antisymmetric_hat) * field.antisymmetric;
  R.diagonal() += hats.overlap_hat * teacher_;
  return R;
}

/// Susceptibilities by Stein's identity on the sphere of the scaled Z, <S, Z> = d sqrt(qhat) V. What S has
/// beside S0 and Z spreads over the d (d +- 1)/2 directions of its symmetry, which differ at finite d (8.13).
UntiedStudent UntiedDenoiser::measure(const Field& field, const UntiedConjugateParameters& hats) const {
  const auto d = static_cast<double>(dimension());
  const Eigen::MatrixXd& S = field.last.minimiser;
  const double along_symmetric = S.cwiseProduct(field.symmetric).sum() / d;
  const double along_antisymmetric = S.cwiseProduct(field.antisymmetric).sum() / d;
  UntiedStudent student;
  student.order.overlap = teacher_.dot(S.diagonal()) / d;
  Eigen::MatrixXd symmetric = 0.5 * (S + S.transpose()) - along_symmetric * field.symmetric;
  symmetric.diagonal() -= student.order.overlap / teacher_self_overlap_ * teacher_;
  const Eigen::MatrixXd antisymmetric = 0.5 * (S - S.transpose()) - along_antisymmetric * field.antisymmetric;
  student.order.orthogonal = along_symmetric * along_symmetric + symmetric.squaredNorm() / (d + 1);
  student.order.antisymmetric =
      along_antisymmetric * along_antisymmetric + antisymmetric.squaredNorm() / (d - 1);
  student.order.symmetric_susceptibility = along_symmetric / std::sqrt(hats.symmetric_hat);
  student.order.antisymmetric_susceptibility = hats.antisymmetric_hat > 0
                                                   ? along_antisymmetric / std::sqrt(hats.antisymmetric_hat)
                                                   : std::numeric_limits<double>::quiet_NaN();
  student.penalty = lambda_ * field.last.singular_values.sum() / d;
  student.zero_fraction = static_cast<double>((field.last.singular_values.array() == 0).count()) / d;
  return student;
}

}  // namespace qklab::theory
