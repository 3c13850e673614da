#include "qklab/channel/attention_indexed/attention_indexed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "channel/every_target.hpp"
#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Rows of scores and of label noise, a column a sample.
struct Batch {
  MatrixXd student, teacher, noise;
};

Batch random_batch(const AttentionIndexedModel& model, int count) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  const auto draw = [&](int rows) {
    return MatrixXd(MatrixXd::NullaryExpr(rows, count, [&]() { return normal(generator); }));
  };
  return {draw(model.score_count()), draw(model.teacher_score_count()), draw(model.output_count())};
}

/// Loss and gradient of each sample (a column).
struct Result {
  VectorXd loss;
  MatrixXd gradient;
};

template <class Real = double>
Result evaluate(const AttentionIndexedModel& model, const Batch& batch) {
  using Rows = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Rows student = batch.student.cast<Real>();
  const Rows teacher = batch.teacher.cast<Real>();
  const Rows noise = batch.noise.cast<Real>();
  const int count = static_cast<int>(student.cols());
  Eigen::Vector<Real, Eigen::Dynamic> loss(count);
  Rows gradient(student.rows(), count);
  loss_and_gradient<Real>(model, count, student.data(), teacher.data(),
                          model.noise_out > 0 ? noise.data() : nullptr, loss.data(), gradient.data());
  return {loss.template cast<double>(), gradient.template cast<double>()};
}

MatrixXd softmax_of(const MatrixXd& scores) {
  const MatrixXd power = scores.array().exp();
  return power.array().colwise() / power.rowwise().sum().array();
}

MatrixXd scores_of(const AttentionIndexedModel& model, const VectorXd& sample, int head) {
  const int t = model.tokens;
  return Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(sample.data() + head * t * t, t, t);
}

double hermite_sum(const std::array<double, 3>& c, double x) {
  return c[0] * x + c[1] * (x * x - 1) + c[2] * (x * x * x - 3 * x);
}

/// f(G): T x T, or one number; causal rows beyond the mask are zero.
MatrixXd output_of(const AttentionIndexedModel& model, const VectorXd& sample, bool is_teacher) {
  const int heads = is_teacher ? model.teacher_heads : model.heads;
  const double beta = is_teacher ? model.teacher_beta : model.beta;
  const int t = model.tokens;
  const auto scores = [&](int head) { return scores_of(model, sample, head); };
  switch (model.architecture) {
    case Architecture::linear:
    case Architecture::denoising:
      return scores(0);
    case Architecture::softmax:
    case Architecture::multi_head: {
      MatrixXd sum = MatrixXd::Zero(t, t);
      const auto& weights = is_teacher ? model.teacher_head_weights : model.head_weights;
      for (int k = 0; k < heads; ++k) sum += weights[k] * softmax_of(beta * scores(k));
      return sum;
    }
    case Architecture::two_layer: {
      MatrixXd tokens = MatrixXd::Identity(t, t);
      for (int k = 0; k < heads; ++k) {
        const MatrixXd seen = tokens * scores(k) * tokens.transpose();
        tokens = model.residual * tokens + softmax_of(beta * seen) * tokens;
      }
      return tokens;
    }
    case Architecture::autoregressive: {
      MatrixXd rows = MatrixXd::Zero(t, t);
      for (int i = 0; i < t; ++i) {
        rows.row(i).head(i + 1) = softmax_of(beta * scores(0).row(i).head(i + 1));
      }
      return rows;
    }
    case Architecture::multi_location:
      return softmax_of(beta * scores(0).row(0).tail(t - 1)) * scores(1).diagonal().tail(t - 1);
    default:
      return MatrixXd::Constant(
          1, 1, hermite_sum(is_teacher ? model.teacher_series : model.series, scores(0)(0, t == 1 ? 0 : 1)));
  }
}

double plain_loss(const AttentionIndexedModel& model, const Batch& batch, int i) {
  const MatrixXd output = output_of(model, batch.student.col(i), false);
  MatrixXd misfit = output - output_of(model, batch.teacher.col(i), true);
  if (model.noise_out > 0) {
    for (int a = 0; a < misfit.rows(); ++a) {
      const bool causal = model.architecture == Architecture::autoregressive;
      for (int b = 0; b < (causal ? a + 1 : misfit.cols()); ++b) {
        misfit(a, b) -= std::sqrt(model.noise_out) * batch.noise(a * misfit.cols() + b, i);
      }
    }
  }
  const bool mixes =
      model.architecture == Architecture::two_layer || model.architecture == Architecture::autoregressive;
  return mixes ? (misfit * model.covariance * misfit.transpose()).trace() : misfit.squaredNorm();
}

AttentionIndexedModel make(Architecture architecture, AttentionIndexedOptions options) {
  return attention_indexed_model(architecture, options);
}

std::vector<AttentionIndexedModel> every_model() {
  using enum Architecture;
  AttentionIndexedOptions plain;
  std::vector<AttentionIndexedModel> models;
  for (const Architecture a :
       {softmax, linear, h1, h2, h3, multi_head, two_layer, autoregressive, multi_location, denoising}) {
    models.push_back(make(a, plain));
  }
  AttentionIndexedOptions rich{.tokens = 4,
                               .heads = 0,
                               .teacher_heads = 0,
                               .beta = 1.3,
                               .teacher_beta = 0.7,
                               .residual = 0.6,
                               .token_correlation = 0.3,
                               .centred = true,
                               .noise_out = 0.2};
  for (const Architecture a : {softmax, linear, h3, autoregressive, multi_location}) {
    models.push_back(make(a, rich));
  }
  rich.heads = 3;
  rich.teacher_heads = 2;
  models.push_back(make(multi_head, rich));
  models.back().head_weights = {0.5, -0.2, 1};
  models.push_back(make(two_layer, rich));
  rich.tokens = 1;
  rich.heads = 0;
  rich.teacher_heads = 0;
  rich.token_correlation = 0;
  models.push_back(make(h2, rich));
  models.back().series = {0.3, -0.5, 0.2};
  return models;
}

class AttentionIndexed : public ::testing::TestWithParam<AttentionIndexedModel> {};

TEST_P(AttentionIndexed, LossIsThatOfTheDefinitionOnEveryTarget) {
  for (const int count : {1, 16, 37}) {
    const Batch batch = random_batch(GetParam(), count);
    test::for_every_target([&](const char* target) {
      const Result result = evaluate(GetParam(), batch);
      const Result single = evaluate<float>(GetParam(), batch);
      for (int i = 0; i < count; ++i) {
        const double want = plain_loss(GetParam(), batch, i);
        EXPECT_NEAR(result.loss[i], want, 1e-12 * (1 + want)) << target;
        EXPECT_NEAR(single.loss[i], want, 3e-5 * (1 + want)) << target;
      }
      EXPECT_LT((single.gradient - result.gradient).norm(), 3e-5 * (1 + result.gradient.norm())) << target;
    });
  }
}

TEST_P(AttentionIndexed, GradientIsThatOfFiniteDifferences) {
  const int count = 19;
  const Batch batch = random_batch(GetParam(), count);
  const Result result = evaluate(GetParam(), batch);
  const double step = 1e-5;
  for (int k = 0; k < GetParam().score_count(); ++k) {
    Batch up = batch, down = batch;
    up.student.row(k).array() += step;
    down.student.row(k).array() -= step;
    const VectorXd want = (evaluate(GetParam(), up).loss - evaluate(GetParam(), down).loss) / (2 * step);
    EXPECT_LT((result.gradient.row(k).transpose() - want).lpNorm<Eigen::Infinity>(),
              1e-8 * (1 + result.gradient.norm()))
        << k;
  }
}

TEST_P(AttentionIndexed, CurvatureIsThatOfFiniteDifferencesOnEveryTarget) {
  const int count = 19;
  const Batch batch = random_batch(GetParam(), count);
  const SeenScores seen = seen_scores(GetParam());
  const double step = 1e-5;
  const VectorXd weights = VectorXd::LinSpaced(count, 0.2, 1);
  MatrixXd want(seen.student.cols(), seen.student.cols() + seen.teacher.cols());
  for (int j = 0; j < want.cols(); ++j) {
    Batch up = batch, down = batch;
    const bool own = j < seen.student.cols();
    const VectorXd direction =
        own ? VectorXd(seen.student.col(j)) : VectorXd(seen.teacher.col(j - seen.student.cols()));
    (own ? up.student : up.teacher).colwise() += step * direction;
    (own ? down.student : down.teacher).colwise() -= step * direction;
    const MatrixXd change = evaluate(GetParam(), up).gradient - evaluate(GetParam(), down).gradient;
    want.col(j) = seen.student.transpose() * change * weights / (2 * step);
  }
  using Rows = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;
  const Rows student = batch.student, teacher = batch.teacher, noise = batch.noise;
  test::for_every_target([&](const char* target) {
    const MatrixXd sum = curvature_sum(GetParam(), seen, count, student.data(), teacher.data(),
                                       GetParam().noise_out > 0 ? noise.data() : nullptr, weights.data());
    EXPECT_LT((sum - want).lpNorm<Eigen::Infinity>(), 1e-7 * (1 + want.norm())) << target;
  });
}

TEST_P(AttentionIndexed, NothingChangesOutsideTheSeenScores) {
  const SeenScores seen = seen_scores(GetParam());
  EXPECT_LT(
      (seen.student.transpose() * seen.student - MatrixXd::Identity(seen.student.cols(), seen.student.cols()))
          .norm(),
      1e-13);
  const Batch batch = random_batch(GetParam(), 9);
  Batch projected = batch;
  projected.student = seen.student * (seen.student.transpose() * batch.student);
  projected.teacher = seen.teacher * (seen.teacher.transpose() * batch.teacher);
  const Result given = evaluate(GetParam(), batch);
  const Result same = evaluate(GetParam(), projected);
  const double size = 1 + given.gradient.norm();
  EXPECT_LT((given.loss - same.loss).norm(), 1e-12 * size);
  EXPECT_LT((given.gradient - same.gradient).norm(), 1e-12 * size);
  EXPECT_LT((given.gradient - seen.student * (seen.student.transpose() * given.gradient)).norm(),
            1e-12 * size);
}

std::string name_of(const ::testing::TestParamInfo<AttentionIndexedModel>& model) {
  std::string name = to_string(model.param.architecture) + "_" + std::to_string(model.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, AttentionIndexed, ::testing::ValuesIn(every_model()), name_of);

TEST(AttentionIndexedModels, SoftmaxIsThatOfTheTrainedModel) {
  AttentionIndexedOptions options;
  options.tokens = 3;
  options.beta = 1.7;
  const AttentionIndexedModel model = make(Architecture::softmax, options);
  const Batch batch = random_batch(model, 40);
  const Eigen::Matrix<double, -1, -1, Eigen::RowMajor> student = batch.student, teacher = batch.teacher;
  const Channel channel{.activation = Activation::softmax, .tokens = 3, .beta = 1.7};
  Eigen::Matrix<double, -1, -1, Eigen::RowMajor> labels(9, 40), gradient(9, 40);
  attention(channel, 40, teacher.data(), labels.data(), ScoreLayout::full);
  const double loss = loss_and_gradient<double>(channel, 40, student.data(), labels.data(), nullptr,
                                                gradient.data(), ScoreLayout::full);
  const Result result = evaluate(model, batch);
  EXPECT_NEAR(result.loss.sum(), loss + labels.squaredNorm(), 1e-11);
  EXPECT_LT((result.gradient - gradient).norm(), 1e-12);
}

TEST(AttentionIndexedModels, EqualHeadsAreOneHead) {
  const AttentionIndexedModel one = make(Architecture::softmax, {});
  const AttentionIndexedModel two = make(Architecture::multi_head, {});
  const Batch batch = random_batch(one, 16);
  const Batch twice{batch.student.replicate(2, 1), batch.teacher.replicate(2, 1), batch.noise};
  EXPECT_LT((evaluate(one, batch).loss - evaluate(two, twice).loss).norm(), 1e-13);
  EXPECT_LT((evaluate(one, batch).gradient - 2 * evaluate(two, twice).gradient.topRows(4)).norm(), 1e-13);
}

TEST(AttentionIndexedModels, OneLayerIsSoftmaxAttention) {
  AttentionIndexedOptions options;
  options.heads = 1;
  const AttentionIndexedModel layer = make(Architecture::two_layer, options);
  const Batch batch = random_batch(layer, 16);
  const Result one = evaluate(layer, batch);
  const Result softmax = evaluate(make(Architecture::softmax, {}), batch);
  EXPECT_LT((one.loss - softmax.loss).norm(), 1e-13);
  EXPECT_LT((one.gradient - softmax.gradient).norm(), 1e-13);
}

TEST(AttentionIndexedModels, AFirstLayerOfZeroScoresAveragesTokens) {
  AttentionIndexedOptions options;
  options.residual = 0;
  const AttentionIndexedModel model = make(Architecture::two_layer, options);
  Batch batch = random_batch(model, 16);
  batch.student.topRows(4).setZero();
  batch.teacher.topRows(4).setZero();
  EXPECT_LT(evaluate(model, batch).loss.norm(), 1e-13);  // both see equal tokens, whatever the second layer
}

TEST(AttentionIndexedModels, NamesArePairedAndDomainsAreNamed) {
  for (const auto& model : every_model()) {
    EXPECT_EQ(parse_architecture(to_string(model.architecture)), model.architecture);
  }
  EXPECT_THROW(parse_architecture("h4"), InvalidParameter);
  AttentionIndexedOptions options;
  options.tokens = 1;
  EXPECT_THROW(make(Architecture::softmax, options), InvalidParameter);
  options.tokens = 2;
  EXPECT_THROW(make(Architecture::denoising, options), InvalidParameter);
  options.token_correlation = 1.2;
  EXPECT_THROW(make(Architecture::softmax, options), InvalidParameter);
  options.token_correlation = 0;
  options.heads = 2;
  EXPECT_THROW(make(Architecture::linear, options), InvalidParameter);
  AttentionIndexedModel model;
  model.covariance << 1, 2, 2, 1;
  EXPECT_THROW(checked(model), InvalidParameter);
}

}  // namespace
}  // namespace qklab
