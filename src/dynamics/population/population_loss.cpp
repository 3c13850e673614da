#include "qklab/dynamics/population/population_loss.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gaussian_nodes.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Points evaluated at once.
constexpr Index kBlock = 1024;
/// Eigenvalues of the covariance below this share of the largest count as zero in its pseudo-inverse.
constexpr double kSingular = 1e-10;

/// How pairs of scores combine to matrices: T^2 x T^2 weights of pairs (i, j), (i', j').
struct PairWeights {
  explicit PairWeights(const MatrixXd& covariance);
  MatrixXd transposed;  ///< C_ii' C_jj'
  MatrixXd product;     ///< C_ij' C_ji'
  VectorXd mean;        ///< C_ij
};

/// The seen part of all scores: center + directions root xi, xi iid standard normal.
struct SeenGaussian {
  VectorXd center;
  MatrixXd root;
  MatrixXd inverse_root;
};

/// Means over one set of nodes.
struct Means {
  double loss = 0;
  VectorXd slope;      ///< E dl/dG, n
  MatrixXd square;     ///< E dl/dG dl/dG^T, n x n
  MatrixXd curvature;  ///< E d^2 l/dG dG', along seen directions of the student and of all
};

MatrixXd joint_directions(const SeenScores& seen);
void check(const AttentionIndexedModel& model, const OrderParameters& parameters);
SeenGaussian seen_gaussian(const AttentionIndexedModel& model, const MatrixXd& directions,
                           const OrderParameters& parameters);
double label_noise_loss(const AttentionIndexedModel& model);
PairCoefficients contracted(const PairWeights& weights, const MatrixXd& pairs);
Estimate entry_estimate(const std::vector<MatrixXd>& values, Index row, Index column);
void average(const std::vector<MatrixXd>& values, MatrixXd& mean, MatrixXd& se);

}  // namespace

struct PopulationLoss::State {
  State(const AttentionIndexedModel& given, const QmcOptions& qmc, Slopes form)
      : model(checked(given)),
        slopes(form),
        seen(seen_scores(model)),
        directions(joint_directions(seen)),
        weights(model.covariance),
        sets(gaussian_nodes(static_cast<int>(directions.cols()), checked(qmc))),
        label_noise(model.noise_out > 0 ? label_noise_loss(model) : 0) {}

  Means means(const SeenGaussian& gaussian, const GaussianNodes& nodes) const;
  void add_block(const RowMatrix& scores, const VectorXd& block_weights, const RowMatrix& normals,
                 Means& sums) const;
  void add_label_noise(const RowMatrix& scores, const VectorXd& block_weights, const RowMatrix& clean,
                       MatrixXd& square) const;
  LossGradient gradient_of(const std::vector<Means>& all) const;

  AttentionIndexedModel model;
  Slopes slopes;
  SeenScores seen;
  MatrixXd directions;  ///< of all scores, the student's first
  PairWeights weights;
  std::vector<GaussianNodes> sets;
  double label_noise;
};

PopulationLoss::PopulationLoss(const AttentionIndexedModel& model, const QmcOptions& qmc, Slopes slopes)
    : state_(std::make_unique<State>(model, qmc, slopes)) {}
PopulationLoss::~PopulationLoss() = default;
PopulationLoss::PopulationLoss(PopulationLoss&&) noexcept = default;
PopulationLoss& PopulationLoss::operator=(PopulationLoss&&) noexcept = default;

const AttentionIndexedModel& PopulationLoss::model() const {
  return state_->model;
}

LossGradient PopulationLoss::evaluate(const OrderParameters& parameters) const {
  check(state_->model, parameters);
  const SeenGaussian gaussian = seen_gaussian(state_->model, state_->directions, parameters);
  std::vector<Means> all(state_->sets.size());
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = state_->means(gaussian, state_->sets[i]);
  return state_->gradient_of(all);
}

Means PopulationLoss::State::means(const SeenGaussian& gaussian, const GaussianNodes& nodes) const {
  const Index scores = model.score_count();
  Means sums{.loss = label_noise,
             .slope = VectorXd::Zero(scores),
             .square = MatrixXd::Zero(scores, scores),
             .curvature = MatrixXd::Zero(seen.student.cols(), directions.cols())};
  const MatrixXd spread = directions * gaussian.root;
  for (Index first = 0; first < nodes.weights.size(); first += kBlock) {
    const Index count = std::min(kBlock, nodes.weights.size() - first);
    const RowMatrix normals = nodes.normals.middleCols(first, count);
    RowMatrix all_scores = spread * normals;
    all_scores.colwise() += gaussian.center;
    add_block(all_scores, nodes.weights.segment(first, count), normals, sums);
  }
  if (slopes == Slopes::first_derivatives) sums.curvature *= gaussian.inverse_root;
  return sums;
}

void PopulationLoss::State::add_block(const RowMatrix& scores, const VectorXd& block_weights,
                                      const RowMatrix& normals, Means& sums) const {
  const auto count = static_cast<int>(scores.cols());
  const double* student = scores.data();
  const double* teacher = scores.data() + static_cast<Index>(model.score_count()) * count;
  VectorXd losses(count);
  RowMatrix slope(model.score_count(), count);
  loss_and_gradient<double>(model, count, student, teacher, nullptr, losses.data(), slope.data());
  sums.loss += losses.dot(block_weights);
  sums.slope += slope * block_weights;
  const RowMatrix weighted = slope * block_weights.asDiagonal();
  sums.square += weighted * slope.transpose();
  if (model.noise_out > 0) add_label_noise(scores, block_weights, slope, sums.square);
  if (slopes == Slopes::first_derivatives) {
    sums.curvature += seen.student.transpose() * (weighted * normals.transpose());
  } else {
    sums.curvature += curvature_sum(model, seen, count, student, teacher, nullptr, block_weights.data());
  }
}

/// The gradient is linear in the label noise: unit noise on one output after the other gives its part.
void PopulationLoss::State::add_label_noise(const RowMatrix& scores, const VectorXd& block_weights,
                                            const RowMatrix& clean, MatrixXd& square) const {
  const auto count = static_cast<int>(scores.cols());
  VectorXd losses(count);
  RowMatrix slope(clean.rows(), count);
  for (int output = 0; output < model.output_count(); ++output) {
    RowMatrix noise = RowMatrix::Zero(model.output_count(), count);
    noise.row(output).setOnes();
    loss_and_gradient<double>(model, count, scores.data(),
                              scores.data() + static_cast<Index>(model.score_count()) * count, noise.data(),
                              losses.data(), slope.data());
    slope -= clean;
    square += slope * block_weights.asDiagonal() * slope.transpose();
  }
}

LossGradient PopulationLoss::State::gradient_of(const std::vector<Means>& all) const {
  const Index pairs = static_cast<Index>(model.tokens) * model.tokens;
  std::vector<MatrixXd> loss, mean, mean_curvature, transposed, product, noise_transposed, noise_product;
  for (const Means& means : all) {
    const MatrixXd curvature = seen.student * means.curvature * directions.transpose();
    const PairCoefficients slope = contracted(weights, curvature);
    const PairCoefficients noise = contracted(weights, means.square);
    const Eigen::Map<const MatrixXd> by_head(means.slope.data(), pairs, model.heads);
    MatrixXd bend(model.heads, model.heads);
    for (int k = 0; k < model.heads; ++k) {
      for (int l = 0; l < model.heads; ++l) {
        bend(k, l) = weights.mean.dot(curvature.block(k * pairs, l * pairs, pairs, pairs) * weights.mean);
      }
    }
    loss.emplace_back(MatrixXd::Constant(1, 1, means.loss));
    mean.emplace_back(by_head.transpose() * weights.mean);
    mean_curvature.push_back(bend);
    transposed.push_back(slope.transposed);
    product.push_back(slope.product);
    noise_transposed.push_back(noise.transposed);
    noise_product.push_back(noise.product);
  }
  LossGradient gradient;
  MatrixXd unused, column, column_se;
  gradient.loss = entry_estimate(loss, 0, 0);
  average(mean, column, column_se);
  gradient.mean = column;
  gradient.mean_se = column_se;
  average(mean_curvature, gradient.mean_curvature, unused);
  average(transposed, gradient.slope.transposed, gradient.slope_se.transposed);
  average(product, gradient.slope.product, gradient.slope_se.product);
  average(noise_transposed, gradient.noise.transposed, unused);
  average(noise_product, gradient.noise.product, unused);
  return gradient;
}

ScoreGaussian score_gaussian(const AttentionIndexedModel& model, const OrderParameters& parameters) {
  check(model, parameters);
  const PairWeights weights(model.covariance);
  const Index pairs = weights.mean.size();
  const Index count = parameters.count();
  ScoreGaussian gaussian{VectorXd::Zero(count * pairs), MatrixXd(count * pairs, count * pairs)};
  for (Index k = 0; k < count; ++k) {
    if (!model.centred) gaussian.mean.segment(k * pairs, pairs) = parameters.mean[k] * weights.mean;
    for (Index l = 0; l < count; ++l) {
      gaussian.covariance.block(k * pairs, l * pairs, pairs, pairs) =
          parameters.transposed(k, l) * weights.transposed + parameters.product(k, l) * weights.product;
    }
  }
  return gaussian;
}

namespace {

PairWeights::PairWeights(const MatrixXd& c)
    : transposed(c.size(), c.size()), product(c.size(), c.size()), mean(c.size()) {
  const Index tokens = c.rows();
  for (Index a = 0; a < c.size(); ++a) {
    const Index i = a / tokens, j = a % tokens;
    mean[a] = c(i, j);
    for (Index b = 0; b < c.size(); ++b) {
      transposed(a, b) = c(i, b / tokens) * c(j, b % tokens);
      product(a, b) = c(i, b % tokens) * c(j, b / tokens);
    }
  }
}

MatrixXd joint_directions(const SeenScores& seen) {
  MatrixXd joint =
      MatrixXd::Zero(seen.student.rows() + seen.teacher.rows(), seen.student.cols() + seen.teacher.cols());
  joint.topLeftCorner(seen.student.rows(), seen.student.cols()) = seen.student;
  joint.bottomRightCorner(seen.teacher.rows(), seen.teacher.cols()) = seen.teacher;
  return joint;
}

void check(const AttentionIndexedModel& model, const OrderParameters& parameters) {
  const Index count = model.heads + model.teacher_heads;
  const auto square = [&](const MatrixXd& m) { return m.rows() == count && m.cols() == count; };
  if (parameters.count() != count || !square(parameters.transposed) || !square(parameters.product)) {
    throw InvalidParameter("order parameters", static_cast<double>(parameters.count()),
                           "must be those of the model's " + std::to_string(count) + " matrices");
  }
  if (!parameters.mean.allFinite() || !parameters.transposed.allFinite() || !parameters.product.allFinite()) {
    throw InvalidParameter("order parameters", "not finite", "must be finite");
  }
}

SeenGaussian seen_gaussian(const AttentionIndexedModel& model, const MatrixXd& directions,
                           const OrderParameters& parameters) {
  const ScoreGaussian gaussian = score_gaussian(model, parameters);
  // The symmetric root changes smoothly with the covariance, singular or not; no other root does.
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(directions.transpose() * gaussian.covariance *
                                                       directions);
  const VectorXd sizes = solver.eigenvalues().cwiseMax(0.0).cwiseSqrt();
  const double least = std::sqrt(kSingular) * sizes.maxCoeff();
  const VectorXd inverse = sizes.unaryExpr([&](double s) { return s > least ? 1 / s : 0.0; });
  const MatrixXd& axes = solver.eigenvectors();
  return {directions * (directions.transpose() * gaussian.mean), axes * sizes.asDiagonal() * axes.transpose(),
          axes * inverse.asDiagonal() * axes.transpose()};
}

/// What label noise adds to the mean loss: the loss is a quadratic form in it, the same for all scores.
double label_noise_loss(const AttentionIndexedModel& model) {
  const VectorXd student = VectorXd::Zero(model.score_count());
  const VectorXd teacher = VectorXd::Zero(model.teacher_score_count());
  VectorXd slope(model.score_count());
  const auto loss_at = [&](const VectorXd& noise) {
    double loss = 0;
    loss_and_gradient<double>(model, 1, student.data(), teacher.data(), noise.data(), &loss, slope.data());
    return loss;
  };
  const Index outputs = model.output_count();
  const double clean = loss_at(VectorXd::Zero(outputs));
  double sum = 0;
  for (Index k = 0; k < outputs; ++k) {
    const VectorXd unit = VectorXd::Unit(outputs, k);
    sum += 0.5 * (loss_at(unit) + loss_at(-unit)) - clean;
  }
  return sum;
}

PairCoefficients contracted(const PairWeights& weights, const MatrixXd& pairs) {
  const Index size = weights.mean.size();
  PairCoefficients result{MatrixXd(pairs.rows() / size, pairs.cols() / size),
                          MatrixXd(pairs.rows() / size, pairs.cols() / size)};
  for (Index k = 0; k < result.transposed.rows(); ++k) {
    for (Index l = 0; l < result.transposed.cols(); ++l) {
      const auto block = pairs.block(k * size, l * size, size, size);
      result.transposed(k, l) = block.cwiseProduct(weights.transposed).sum();
      result.product(k, l) = block.cwiseProduct(weights.product).sum();
    }
  }
  return result;
}

Estimate entry_estimate(const std::vector<MatrixXd>& values, Index row, Index column) {
  std::vector<double> entries;
  for (const MatrixXd& value : values) entries.push_back(value(row, column));
  return mean_and_error(entries);
}

void average(const std::vector<MatrixXd>& values, MatrixXd& mean, MatrixXd& se) {
  mean.resizeLike(values.front());
  se.resizeLike(values.front());
  for (Index i = 0; i < mean.rows(); ++i) {
    for (Index j = 0; j < mean.cols(); ++j) {
      const Estimate entry = entry_estimate(values, i, j);
      mean(i, j) = entry.value;
      se(i, j) = entry.se;
    }
  }
}

}  // namespace
}  // namespace qklab::dynamics
