#include "qklab/lab/online/online_sgd.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <Eigen/Dense>
#include <cmath>

#include "lab/training_problems.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"

namespace qklab::lab {
namespace {

Matrix teacher_of(int dimension, std::uint64_t seed) {
  Problem problem;
  problem.dimension = dimension;
  return draw_teacher(problem, seed);
}

std::vector<Matrix> teachers_of(const AttentionIndexedModel& model, int dimension, std::uint64_t seed) {
  std::vector<Matrix> teachers;
  for (int k = 0; k < model.teacher_heads; ++k) teachers.push_back(teacher_of(dimension, seed + 100 * k));
  return teachers;
}

/// S_1, ..., S_K of docs/theory section 10.1 from the parameters.
std::vector<Matrix> students(const AttentionIndexedModel& model, Parametrization parametrization,
                             const Matrix& parameters) {
  std::vector<Matrix> result;
  const Eigen::Index columns = parameters.cols() / model.heads;
  for (int k = 0; k < model.heads; ++k) {
    const Matrix p = parameters.middleCols(k * columns, columns);
    const Eigen::Index half = columns / 2;
    if (parametrization == Parametrization::tied) result.emplace_back(p * p.transpose());
    if (parametrization == Parametrization::direct) result.push_back(p);
    if (parametrization == Parametrization::untied) {
      result.emplace_back(p.leftCols(half) * p.rightCols(half).transpose());
    }
  }
  return result;
}

/// G_ijk of one sample as defined by (10.1), a row a pair and head.
Eigen::VectorXd plain_scores(const AttentionIndexedModel& model, const Matrix& x,
                             const std::vector<Matrix>& matrices) {
  Eigen::VectorXd scores(model.tokens * model.tokens * std::ssize(matrices));
  const auto d = static_cast<double>(x.cols());
  for (int k = 0; k < std::ssize(matrices); ++k) {
    for (int i = 0; i < model.tokens; ++i) {
      for (int j = 0; j < model.tokens; ++j) {
        const double mean = model.centred ? model.covariance(i, j) * matrices[k].trace() : 0;
        scores[model.score(i, j, k)] = ((x.row(i) * matrices[k]).dot(x.row(j)) - mean) / std::sqrt(d);
      }
    }
  }
  return scores;
}

/// Mean loss of the first batch, sample by sample.
double plain_batch_loss(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
                        const std::vector<Matrix>& student, int batch, std::uint64_t seed) {
  const auto d = teachers.front().rows();
  const Eigen::MatrixXd root =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(model.covariance).operatorSqrt();
  double total = 0;
  for (int s = 0; s < batch; ++s) {
    Matrix x(model.tokens, d);
    RandomStream stream(seed, Purpose::tokens, static_cast<std::uint64_t>(s));
    stream.fill_normal(std::span<double>(x.data(), static_cast<std::size_t>(x.size())));
    x = (root * x).eval();
    const Eigen::VectorXd scores = plain_scores(model, x, student);
    const Eigen::VectorXd labels = plain_scores(model, x, teachers);
    std::vector<double> noise(static_cast<std::size_t>(model.output_count()));
    RandomStream noise_stream(seed, Purpose::noise_out, static_cast<std::uint64_t>(s));
    for (double& n : noise) n = noise_stream.normal();
    double loss = 0;
    Eigen::VectorXd slope(scores.size());
    loss_and_gradient<double>(model, 1, scores.data(), labels.data(),
                              model.noise_out > 0 ? noise.data() : nullptr, &loss, slope.data());
    total += loss;
  }
  return total / batch;
}

struct NamedModel {
  std::string name;
  AttentionIndexedModel model;
};

std::vector<NamedModel> small_models() {
  AttentionIndexedOptions options;
  std::vector<NamedModel> models;
  models.push_back({"softmax2", attention_indexed_model(Architecture::softmax)});
  options.tokens = 3;
  options.beta = 1.4;
  options.token_correlation = 0.3;
  options.noise_out = 0.2;
  models.push_back({"softmax3_correlated_noisy", attention_indexed_model(Architecture::softmax, options)});
  options = {};
  options.centred = false;
  options.token_correlation = 0.4;
  models.push_back({"h2_uncentred", attention_indexed_model(Architecture::h2, options)});
  options = {};
  options.heads = 2;
  models.push_back({"two_heads", attention_indexed_model(Architecture::multi_head, options)});
  models.push_back({"linear", attention_indexed_model(Architecture::linear)});
  return models;
}

OnlineSgdOptions small_options(Parametrization parametrization) {
  OnlineSgdOptions options;
  options.parametrization = parametrization;
  options.kappa = 0.7;
  options.step = 0.02;
  options.batch = 9;
  options.precision = Precision::f64;
  options.loss_samples = 16;
  return options;
}

constexpr Parametrization every_parametrization[] = {Parametrization::tied, Parametrization::direct,
                                                     Parametrization::untied};

class EveryModel : public testing::TestWithParam<NamedModel> {};

TEST_P(EveryModel, AStepIsTheSlopeOfTheBatchLoss) {
  constexpr int d = 11;
  constexpr std::uint64_t seed = 4;
  const AttentionIndexedModel& model = GetParam().model;
  const std::vector<Matrix> teachers = teachers_of(model, d, seed);
  for (Parametrization parametrization : every_parametrization) {
    OnlineSgdOptions options = small_options(parametrization);
    options.weight_decay = 0.8;
    options.times = {0};
    const Matrix start = online_sgd(model, teachers, options, seed).parameters;
    options.times = {options.step / d};
    const OnlineRun run = online_sgd(model, teachers, options, seed);
    ASSERT_EQ(run.steps, 1);
    const Matrix step = (run.parameters - start) / options.step;
    for (std::uint64_t index : {1, 2, 3}) {
      Matrix direction(start.rows(), start.cols());
      RandomStream stream(7, Purpose::probe, index);
      for (double& entry : direction.reshaped()) entry = stream.normal();
      direction /= direction.norm();
      const auto along = [&](double t) {
        const Matrix there = start + t * direction;
        return plain_batch_loss(model, teachers, students(model, parametrization, there), options.batch,
                                seed) +
               options.weight_decay / (2 * d) * there.squaredNorm();
      };
      constexpr double h = 1e-3;
      const double slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h);
      EXPECT_NEAR(step.cwiseProduct(direction).sum(), -slope, 1e-8 * std::max(1.0, step.norm()))
          << to_string(parametrization);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, EveryModel, testing::ValuesIn(small_models()),
                         [](const auto& param) { return param.param.name; });

TEST(OnlineSgd, MeasuresTheStudentItReturns) {
  constexpr int d = 16;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(d, 2);
  for (Parametrization parametrization : every_parametrization) {
    OnlineSgdOptions options = small_options(parametrization);
    options.spectra = true;
    options.times = {0, 0.05};
    const OnlineRun run = online_sgd(model, {teacher}, options, 2);
    ASSERT_EQ(run.points.size(), 2U);
    const OnlinePoint& point = run.points.back();
    const Matrix s = students(model, parametrization, run.parameters).front();
    EXPECT_NEAR(point.overlap, s.cwiseProduct(teacher).sum() / d, 1e-14);
    EXPECT_NEAR(point.self_overlap, s.squaredNorm() / d, 1e-14);
    EXPECT_NEAR(point.transposed_overlap, (s * s).trace() / d, 1e-14);
    EXPECT_NEAR(point.trace, s.trace() / d, 1e-14);
    EXPECT_NEAR(point.time, 0.05, options.step / d);
    EXPECT_DOUBLE_EQ(point.samples, 9.0 * static_cast<double>(run.steps));
    const Eigen::MatrixXd symmetric = (s + s.transpose()) / 2;
    const Eigen::VectorXd truth = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric).eigenvalues();
    for (int i = 0; i < d; ++i) EXPECT_NEAR(point.eigenvalues[i], truth[i], 1e-13);
    const double q0 = teacher.squaredNorm() / d;
    const double t0 = teacher.trace() / d;
    EXPECT_NEAR(point.alignment, point.overlap / std::sqrt(point.self_overlap * q0), 1e-14);
    EXPECT_NEAR(point.centred_alignment,
                (point.overlap - point.trace * t0) /
                    std::sqrt((point.self_overlap - point.trace * point.trace) * (q0 - t0 * t0)),
                1e-12);
  }
}

TEST(OnlineSgd, StartsHaveTheSizeThatWasAskedFor) {
  constexpr int d = 200;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(d, 1);
  OnlineSgdOptions options;
  options.times = {0};
  options.start = 0.4;
  options.kappa = 0.5;
  // q = start^2 (1 + 1/kappa) of W W^T, start^2/kappa of U V^T; relative fluctuations are of order 1/d.
  const double product = 0.16 * 3;
  const auto at_start = [&](Parametrization parametrization, DirectStart start) {
    options.parametrization = parametrization;
    options.direct_start = start;
    return online_sgd(model, {teacher}, options, 1).points.front();
  };
  const OnlinePoint tied = at_start(Parametrization::tied, DirectStart::gaussian);
  EXPECT_NEAR(tied.trace, 0.4, 0.01);
  EXPECT_NEAR(tied.self_overlap, product, 0.02);
  const OnlinePoint untied = at_start(Parametrization::untied, DirectStart::gaussian);
  EXPECT_NEAR(untied.factor_norm, 0.4, 0.01);
  EXPECT_NEAR(untied.trace, 0, 0.01);
  EXPECT_NEAR(untied.self_overlap, 0.32, 0.02);
  const OnlinePoint gaussian = at_start(Parametrization::direct, DirectStart::gaussian);
  EXPECT_NEAR(gaussian.trace, 0, 0.02);
  EXPECT_NEAR(gaussian.self_overlap, product, 0.02);
  EXPECT_NEAR(gaussian.transposed_overlap, gaussian.self_overlap, 1e-13);
  const OnlinePoint same = at_start(Parametrization::direct, DirectStart::product);
  EXPECT_DOUBLE_EQ(same.overlap, tied.overlap);
  EXPECT_DOUBLE_EQ(same.self_overlap, tied.self_overlap);
}

TEST(OnlineSgd, ThreadsChangeNothing) {
  constexpr int d = 70;  // large enough for several threads
  AttentionIndexedOptions asked;
  asked.tokens = 3;
  asked.noise_out = 0.1;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax, asked);
  const Matrix teacher = teacher_of(d, 1);
  const int budget = omp_get_max_threads();
  for (Parametrization parametrization : every_parametrization) {
    for (Precision precision : {Precision::f32, Precision::f64}) {
      OnlineSgdOptions options = small_options(parametrization);
      options.batch = 700;
      options.precision = precision;
      options.times = {0.0008};
      omp_set_num_threads(1);
      const OnlineRun one = online_sgd(model, {teacher}, options, 1);
      for (int threads : {2, 3}) {
        omp_set_num_threads(threads);
        const OnlineRun many = online_sgd(model, {teacher}, options, 1);
        EXPECT_EQ(many.parameters, one.parameters);
        EXPECT_EQ(many.points.back().loss.value, one.points.back().loss.value);
      }
    }
  }
  omp_set_num_threads(budget);
}

TEST(OnlineSgd, SeedsSideBySideAreTheRunsOneByOne) {
  constexpr int d = 20;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const auto teachers = [](std::uint64_t seed) { return std::vector<Matrix>{teacher_of(d, seed)}; };
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.times = {0.02};
  double last = 0;
  options.progress = [&](const Progress& progress) { last = progress.done / progress.total; };
  const std::vector<OnlineRun> runs = online_sgd_runs(model, teachers, options, 5, 4);
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_GT(last, 0);
  EXPECT_LE(last, 1);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(runs[k].seed, 5U + k);
    EXPECT_EQ(runs[k].parameters, online_sgd(model, teachers(5 + k), options, 5 + k).parameters);
  }
  EXPECT_NE(runs[0].parameters, runs[1].parameters);
}

TEST(OnlineSgd, SinglePrecisionFollowsDouble) {
  constexpr int d = 30;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(d, 1);
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.batch = 50;
  options.step = 0.5;
  options.times = {0.5};
  const OnlinePoint exact = online_sgd(model, {teacher}, options, 1).points.back();
  options.precision = Precision::f32;
  const OnlinePoint rounded = online_sgd(model, {teacher}, options, 1).points.back();
  EXPECT_NEAR(rounded.overlap, exact.overlap, 1e-5);
  EXPECT_NEAR(rounded.self_overlap, exact.self_overlap, 1e-5);
}

TEST(OnlineSgd, FirstStepsDriftAsThePopulationLossOfLinearAttention) {
  // Linear scores of T tokens: E grad_S = 2 T (T + 1) (S - S0)/d exactly, at any d. One step of a tied
  // student then moves m by -eta Tr((A W W^T + W W^T A) S0)/d + eta^2 (...) with A = 2 E grad_S.
  constexpr int d = 24;
  constexpr int runs = 40;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::linear);
  const double strength = 2.0 * model.tokens * (model.tokens + 1) / d;
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.kappa = 1;
  options.batch = 2000;
  options.step = 1e-3;
  options.times = {0, options.step / d};
  std::vector<double> differences;
  for (int seed = 1; seed <= runs; ++seed) {
    const Matrix teacher = teacher_of(d, seed);
    OnlineSgdOptions at_start = options;
    at_start.times = {0};
    const Matrix w = online_sgd(model, {teacher}, at_start, seed).parameters;
    const Matrix s = w * w.transpose();
    const Matrix a = 2 * strength * (s - teacher);
    const double drift = -((a * s + s * a) * teacher).trace() / d;
    const OnlineRun run = online_sgd(model, {teacher}, options, seed);
    differences.push_back((run.points[1].overlap - run.points[0].overlap) / options.step - drift);
  }
  const Estimate difference = mean_and_error(differences);
  EXPECT_NEAR(difference.value, 0, 4 * difference.se);
  EXPECT_LT(difference.se, 0.005);
}

TEST(OnlineSgd, RotatedTeachersAreLearnedAlikeInLaw) {
  // The student's start and the tokens have no preferred direction: a teacher and the same one in its own
  // eigenbasis give overlaps of one law.
  constexpr int d = 20;
  constexpr int runs = 30;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(d, 1);
  const Modes modes = symmetric_modes(teacher);
  Matrix diagonal = Matrix::Zero(d, d);
  for (int i = 0; i < d; ++i) diagonal(i, i) = modes.values[i];
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.step = 0.3;
  options.batch = 40;
  options.times = {0.3};
  const auto overlaps = [&](const Matrix& of, std::uint64_t first) {
    std::vector<double> values;
    const auto teachers = [&](std::uint64_t /*seed*/) { return std::vector<Matrix>{of}; };
    for (const OnlineRun& run : online_sgd_runs(model, teachers, options, first, runs)) {
      values.push_back(run.points.back().overlap);
    }
    return mean_and_error(values);
  };
  const Estimate given = overlaps(teacher, 1);
  const Estimate rotated = overlaps(diagonal, 1001);
  EXPECT_NEAR(given.value, rotated.value, 4 * std::hypot(given.se, rotated.se));
}

TEST(OnlineSgd, LearnsSoftmaxAndNotesWhen) {
  constexpr int d = 40;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(d, 1);
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.step = 0.2;
  options.batch = 100;
  options.times.clear();
  for (int i = 0; i <= 200; ++i) options.times.push_back(0.005 * i);
  const OnlineRun run = online_sgd(model, {teacher}, options, 1);
  EXPECT_EQ(run.outcome, Outcome::converged);
  ASSERT_EQ(run.points.size(), 201U);
  EXPECT_LT(run.points.back().loss.value, run.points.front().loss.value / 5);
  for (const Escape& escape : run.escapes) {
    ASSERT_TRUE(std::isfinite(escape.time));
    EXPECT_NEAR(escape.samples, 100 * escape.time * d / 0.2, 1e-9 * escape.samples);
    const OnlinePoint& start = run.points.front();
    const double start_variance = start.self_overlap - start.trace * start.trace;
    for (const OnlinePoint& point : run.points) {
      const double variance = std::max(start_variance, point.self_overlap - point.trace * point.trace) *
                              (run.teacher_self_overlap - run.teacher_trace * run.teacher_trace);
      const double fraction = std::abs(point.overlap - point.trace * run.teacher_trace) / std::sqrt(variance);
      if (point.time < escape.time - 0.01) {
        EXPECT_LT(fraction, escape.threshold);
      }
      if (point.time > escape.time + 0.01) {
        EXPECT_GT(fraction, escape.threshold);
      }
    }
  }
  options.stop_at_last_escape = true;
  const OnlineRun stopped = online_sgd(model, {teacher}, options, 1);
  EXPECT_LT(stopped.steps, run.steps);
  EXPECT_EQ(stopped.escapes.back().time, run.escapes.back().time);
}

TEST(OnlineSgd, LossOfNoisyLabelsIsLargerByTheNoise) {
  constexpr int d = 30;
  AttentionIndexedOptions asked;
  asked.noise_out = 0.25;
  const AttentionIndexedModel noisy = attention_indexed_model(Architecture::softmax, asked);
  const AttentionIndexedModel clean = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(d, 1);
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.times = {0};
  options.loss_samples = 20000;
  const Estimate with = online_sgd(noisy, {teacher}, options, 1).points.front().loss;
  const Estimate without = online_sgd(clean, {teacher}, options, 1).points.front().loss;
  EXPECT_NEAR(with.value - without.value, noisy.output_count() * 0.25, 4 * std::hypot(with.se, without.se));
}

TEST(OnlineSgd, SaysThatASecondHermitePolynomialDiverges) {
  constexpr int d = 60;
  const AttentionIndexedModel model = attention_indexed_model(Architecture::h2);
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.step = 1;
  options.batch = 60;
  options.times = {0, 0.5, 1};
  const OnlineRun run = online_sgd(model, {teacher_of(d, 1)}, options, 1);
  EXPECT_EQ(run.outcome, Outcome::diverged);
  EXPECT_EQ(run.points.size(), 1U);
  EXPECT_LT(run.steps, 60);
}

TEST(OnlineSgd, StopsWhenAsked) {
  const std::atomic<bool> flag{true};
  OnlineSgdOptions options = small_options(Parametrization::tied);
  options.times = {0, 1};
  options.stop = StopToken(flag);
  const OnlineRun run =
      online_sgd(attention_indexed_model(Architecture::softmax), {teacher_of(12, 1)}, options, 1);
  EXPECT_EQ(run.outcome, Outcome::interrupted);
  EXPECT_EQ(run.steps, 0);
  EXPECT_EQ(run.points.size(), 1U);
}

TEST(OnlineSgd, NamesWhatIsOutOfRange) {
  const AttentionIndexedModel model = attention_indexed_model(Architecture::softmax);
  const Matrix teacher = teacher_of(12, 1);
  const auto refuses = [&](auto&& change) {
    OnlineSgdOptions options;
    change(options);
    EXPECT_THROW(online_sgd(model, {teacher}, options, 1), InvalidParameter);
  };
  refuses([](OnlineSgdOptions& o) { o.step = 0; });
  refuses([](OnlineSgdOptions& o) { o.batch = 0; });
  refuses([](OnlineSgdOptions& o) { o.start = -1; });
  refuses([](OnlineSgdOptions& o) { o.kappa = 0; });
  refuses([](OnlineSgdOptions& o) { o.weight_decay = -1; });
  refuses([](OnlineSgdOptions& o) { o.times = {}; });
  refuses([](OnlineSgdOptions& o) { o.times = {1, 0.5}; });
  refuses([](OnlineSgdOptions& o) { o.thresholds = {1.5}; });
  refuses([](OnlineSgdOptions& o) { o.loss_samples = 1; });
  EXPECT_THROW(online_sgd(model, {}, {}, 1), InvalidParameter);
  Matrix crooked = teacher;
  crooked(0, 1) += 1;
  EXPECT_THROW(online_sgd(model, {crooked}, {}, 1), InvalidParameter);
}

}  // namespace
}  // namespace qklab::lab
