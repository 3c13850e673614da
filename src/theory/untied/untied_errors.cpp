#include "untied_errors.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <optional>

namespace qklab::theory {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// What the output side answers: logarithms of the conjugates, then loss and test error.
VectorXd output_vector(const UntiedMap& map, const UntiedOutputExpectations& output, double test_error) {
  const UntiedConjugateParameters hats = map.conjugates(output);
  VectorXd y(map.size() + 2);
  y.head(3) << std::log(hats.overlap_hat), std::log(hats.symmetric_hat),
      std::log(hats.symmetric_susceptibility_hat);
  if (map.size() == 5) {
    y.segment(3, 2) << std::log(hats.antisymmetric_hat), std::log(hats.antisymmetric_susceptibility_hat);
  }
  y.tail(2) << output.loss, test_error;
  return y;
}

UntiedConjugateParameters conjugates_of(const VectorXd& logarithms) {
  UntiedConjugateParameters hats{std::exp(logarithms[0]), std::exp(logarithms[1]), 0, std::exp(logarithms[2]),
                                 std::exp(logarithms[2])};
  if (logarithms.size() == 5) {
    hats.antisymmetric_hat = std::exp(logarithms[3]);
    hats.antisymmetric_susceptibility_hat = std::exp(logarithms[4]);
  }
  return hats;
}

/// What the matrix side answers: coordinates, then penalty and zero fraction.
VectorXd matrix_vector(const UntiedMap& map, const UntiedStudent& student) {
  VectorXd y(map.size() + 2);
  y << map.coordinates(student.order), student.penalty, student.zero_fraction;
  return y;
}

double average(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size())).mean();
}

/// Central differences, wide enough to average over jumps of the proximal map and steps of the zero fraction.
template <class Function>
std::optional<MatrixXd> slopes(const Function& function, const VectorXd& at) {
  constexpr double step = 1e-2;
  MatrixXd result(at.size() + 2, at.size());
  for (Index k = 0; k < at.size(); ++k) {
    const VectorXd shift = step * VectorXd::Unit(at.size(), k);
    const std::optional<VectorXd> up = function(at + shift);
    const std::optional<VectorXd> down = function(at - shift);
    if (!up || !down) return std::nullopt;
    result.col(k) = (*up - *down) / (2 * step);
  }
  return result;
}

struct Slopes {
  MatrixXd output;  ///< of output_vector in x
  MatrixXd matrix;  ///< of matrix_vector in the logarithms of the conjugates
};

Slopes slopes_of(UntiedMap& map, const VectorXd& x, const VectorXd& logarithms) {
  const auto output_side = [&](const VectorXd& at) -> std::optional<VectorXd> {
    return output_vector(map, mean(map.output_side(at)), average(map.test_error(at)));
  };
  const auto matrix_side = [&](const VectorXd& at) -> std::optional<VectorXd> {
    const auto students = map.denoiser()(conjugates_of(at));
    return students ? std::optional(matrix_vector(map, mean(*students))) : std::nullopt;
  };
  const MatrixXd unknown =
      MatrixXd::Constant(x.size() + 2, x.size(), std::numeric_limits<double>::quiet_NaN());
  return {slopes(output_side, x).value_or(unknown), slopes(matrix_side, logarithms).value_or(unknown)};
}

/// From vectors to the deviations from their mean.
void center(std::vector<VectorXd>& values) {
  VectorXd mean = VectorXd::Zero(values.front().size());
  for (const VectorXd& value : values) mean += value / static_cast<double>(values.size());
  for (VectorXd& value : values) value -= mean;
}

/// Turns deviations of the two sides into fixed points.
class Propagation {
 public:
  Propagation(VectorXd x, VectorXd output, VectorXd matrix, Slopes slopes)
      : x_(std::move(x)), output_(std::move(output)), matrix_(std::move(matrix)), slopes_(std::move(slopes)) {
    const Index size = x_.size();
    const MatrixXd jacobian = slopes_.matrix.topRows(size) * slopes_.output.topRows(size);
    response_ = (MatrixXd::Identity(size, size) - jacobian).inverse();
  }

  UntiedVariables shifted(const VectorXd& output_deviation, const VectorXd& matrix_deviation) const {
    const Index size = x_.size();
    const VectorXd drive =
        slopes_.matrix.topRows(size) * output_deviation.head(size) + matrix_deviation.head(size);
    const VectorXd dx = response_ * drive;
    const VectorXd output = output_ + output_deviation + slopes_.output * dx;
    const VectorXd matrix =
        matrix_ + matrix_deviation + slopes_.matrix * (output.head(size) - output_.head(size));
    return {x_ + dx,         conjugates_of(output.head(size)), output[size], output[size + 1], matrix[size],
            matrix[size + 1]};
  }

 private:
  VectorXd x_;
  VectorXd output_;
  VectorXd matrix_;
  Slopes slopes_;
  MatrixXd response_;
};

}  // namespace

UntiedReplicas replicas(const UntiedSides& sides, const UntiedMap& map, UntiedMap& coarse) {
  const VectorXd output = output_vector(map, mean(sides.outputs), average(sides.test_errors));
  const VectorXd matrix = matrix_vector(map, mean(sides.students));
  const Propagation propagation(sides.x, output, matrix, slopes_of(coarse, sides.x, output.head(map.size())));
  const VectorXd nothing = VectorXd::Zero(map.size() + 2);
  std::vector<VectorXd> outputs;
  for (std::size_t s = 0; s < sides.outputs.size(); ++s) {
    outputs.push_back(output_vector(map, sides.outputs[s], sides.test_errors[s]));
  }
  std::vector<VectorXd> matrices;
  for (const UntiedStudent& student : sides.students) matrices.push_back(matrix_vector(map, student));
  center(outputs);
  center(matrices);

  UntiedReplicas result{{sides.x, map.conjugates(mean(sides.outputs)), output[map.size()],
                         output[map.size() + 1], matrix[map.size()], matrix[map.size() + 1]},
                        {},
                        {}};
  for (const VectorXd& deviation : outputs) {
    result.of_scramblings.push_back(propagation.shifted(deviation, nothing));
  }
  for (const VectorXd& deviation : matrices) {
    result.of_matrices.push_back(propagation.shifted(nothing, deviation));
  }
  return result;
}

}  // namespace qklab::theory
