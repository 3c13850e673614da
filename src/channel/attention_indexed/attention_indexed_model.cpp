#include <Eigen/Eigenvalues>
#include <cmath>
#include <string>

#include "qklab/channel/attention_indexed/attention_indexed.hpp"
#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

bool is_single_index(Architecture architecture) {
  return architecture == Architecture::h1 || architecture == Architecture::h2 ||
         architecture == Architecture::h3;
}

int fewest_tokens(Architecture architecture);
int usual_tokens(Architecture architecture);
void check_heads(const AttentionIndexedModel& model);
void check_covariance(const AttentionIndexedModel& model);
MatrixXd token_covariance(Architecture architecture, int tokens, double correlation);
MatrixXd seen_of(const AttentionIndexedModel& model, int heads);

}  // namespace

int AttentionIndexedModel::output_count() const {
  const bool one = is_single_index(architecture) || architecture == Architecture::multi_location;
  return one ? 1 : tokens * tokens;
}

AttentionIndexedModel attention_indexed_model(Architecture architecture,
                                              const AttentionIndexedOptions& options) {
  AttentionIndexedModel model;
  model.architecture = architecture;
  model.tokens = options.tokens == 0 ? usual_tokens(architecture) : options.tokens;
  const bool several = architecture == Architecture::multi_head || architecture == Architecture::two_layer ||
                       architecture == Architecture::multi_location;
  model.heads = options.heads == 0 ? (several ? 2 : 1) : options.heads;
  model.teacher_heads = options.teacher_heads == 0 ? model.heads : options.teacher_heads;
  model.beta = options.beta;
  model.teacher_beta = options.teacher_beta == 0 ? options.beta : options.teacher_beta;
  model.residual = options.residual;
  model.centred = options.centred;
  model.noise_out = options.noise_out;
  if (model.heads < 1 || model.teacher_heads < 1 || model.tokens < fewest_tokens(architecture)) {
    model.covariance.resize(0, 0);
    return checked(model);
  }
  model.covariance = token_covariance(architecture, model.tokens, options.token_correlation);
  model.head_weights.assign(model.heads, 1.0 / model.heads);
  model.teacher_head_weights.assign(model.teacher_heads, 1.0 / model.teacher_heads);
  if (is_single_index(architecture)) {
    const int degree = architecture == Architecture::h1 ? 1 : architecture == Architecture::h2 ? 2 : 3;
    model.series = {0, 0, 0};
    model.series[degree - 1] = 1;
    model.teacher_series = model.series;
  }
  return checked(model);
}

AttentionIndexedModel checked(AttentionIndexedModel model) {
  const std::string name = to_string(model.architecture);
  if (model.tokens < fewest_tokens(model.architecture)) {
    throw InvalidParameter(
        "tokens", model.tokens,
        "a model " + name + " needs T >= " + std::to_string(fewest_tokens(model.architecture)));
  }
  if (model.architecture == Architecture::denoising && model.tokens != 1) {
    throw InvalidParameter("tokens", model.tokens, "a model denoising has one token");
  }
  check_heads(model);
  for (const auto& [parameter, value] :
       {std::pair{"beta", model.beta}, {"teacher-beta", model.teacher_beta}}) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw InvalidParameter(parameter, value, "the inverse temperature must be > 0 and finite");
    }
  }
  if (!std::isfinite(model.residual)) {
    throw InvalidParameter("residual", model.residual, "the weight of the residual stream must be finite");
  }
  if (!(model.noise_out >= 0) || !std::isfinite(model.noise_out)) {
    throw InvalidParameter("noise-out", model.noise_out,
                           "the variance of the noise on the labels must be >= 0 and finite");
  }
  check_covariance(model);
  return model;
}

SeenScores seen_scores(const AttentionIndexedModel& model) {
  return {seen_of(model, model.heads), seen_of(model, model.teacher_heads)};
}

std::string to_string(Architecture architecture) {
  switch (architecture) {
    case Architecture::softmax:
      return "softmax";
    case Architecture::linear:
      return "linear";
    case Architecture::h1:
      return "h1";
    case Architecture::h2:
      return "h2";
    case Architecture::h3:
      return "h3";
    case Architecture::multi_head:
      return "multi-head";
    case Architecture::two_layer:
      return "two-layer";
    case Architecture::autoregressive:
      return "autoregressive";
    case Architecture::multi_location:
      return "multi-location";
    case Architecture::denoising:
      return "denoising";
  }
  return {};
}

Architecture parse_architecture(const std::string& name) {
  using enum Architecture;
  return parse_choice<Architecture>(
      "model", name,
      {softmax, linear, h1, h2, h3, multi_head, two_layer, autoregressive, multi_location, denoising});
}

namespace {

int fewest_tokens(Architecture architecture) {
  switch (architecture) {
    case Architecture::softmax:
    case Architecture::multi_head:
    case Architecture::two_layer:
    case Architecture::autoregressive:
      return 2;
    case Architecture::multi_location:
      return 3;
    default:
      return 1;
  }
}

int usual_tokens(Architecture architecture) {
  if (architecture == Architecture::denoising) return 1;
  if (architecture == Architecture::autoregressive || architecture == Architecture::multi_location) return 3;
  return 2;
}

void check_heads(const AttentionIndexedModel& model) {
  const bool any =
      model.architecture == Architecture::multi_head || model.architecture == Architecture::two_layer;
  const bool two = model.architecture == Architecture::multi_location;
  for (const auto& [parameter, value] :
       {std::pair{"heads", model.heads}, {"teacher-heads", model.teacher_heads}}) {
    if (value < 1) throw InvalidParameter(parameter, value, "the number of matrices must be >= 1");
    if (!any && value != (two ? 2 : 1)) {
      throw InvalidParameter(
          parameter, value,
          "a model " + to_string(model.architecture) + " has " + (two ? "two matrices" : "one matrix"));
    }
  }
  const bool summed =
      model.architecture == Architecture::multi_head || model.architecture == Architecture::softmax;
  if (summed && (std::ssize(model.head_weights) != model.heads ||
                 std::ssize(model.teacher_head_weights) != model.teacher_heads)) {
    throw InvalidParameter("head weights", static_cast<double>(model.head_weights.size()),
                           "there must be one for each head");
  }
}

void check_covariance(const AttentionIndexedModel& model) {
  const MatrixXd& c = model.covariance;
  const bool shaped = c.rows() == model.tokens && c.cols() == model.tokens && c.allFinite();
  if (!shaped || !c.isApprox(c.transpose())) {
    throw InvalidParameter("token covariance", std::to_string(c.rows()) + " x " + std::to_string(c.cols()),
                           "must be a finite symmetric T x T matrix");
  }
  const double least = Eigen::SelfAdjointEigenSolver<MatrixXd>(c).eigenvalues()[0];
  if (least < -1e-12 * c.norm()) {
    throw InvalidParameter("token covariance", "least eigenvalue " + std::to_string(least),
                           "must be positive semidefinite");
  }
}

/// 1 on the diagonal; c between distinct tokens, of a chain c^|i-j|.
MatrixXd token_covariance(Architecture architecture, int tokens, double correlation) {
  if (!(std::abs(correlation) <= 1)) {
    throw InvalidParameter("token-correlation", correlation, "must be in -1..1");
  }
  MatrixXd covariance = MatrixXd::Identity(tokens, tokens);
  for (int i = 0; i < tokens; ++i) {
    for (int j = 0; j < tokens; ++j) {
      const bool chain = architecture == Architecture::autoregressive;
      if (i != j) covariance(i, j) = chain ? std::pow(correlation, std::abs(i - j)) : correlation;
    }
  }
  return covariance;
}

/// Adds a basis of the directions of `size` consecutive scores that sum to zero: all that a softmax sees.
void add_gaps(Index first, int size, MatrixXd& seen, Index& column) {
  for (int b = 1; b < size; ++b, ++column) {
    seen.col(column).segment(first, b).setConstant(1.0 / std::sqrt(b * (b + 1.0)));
    seen(first + b, column) = -b / std::sqrt(b * (b + 1.0));
  }
}

MatrixXd seen_of(const AttentionIndexedModel& model, int heads) {
  const int tokens = model.tokens;
  const int scores = heads * tokens * tokens;
  MatrixXd seen = MatrixXd::Zero(scores, scores);
  Index columns = 0;
  switch (model.architecture) {
    case Architecture::softmax:
    case Architecture::multi_head:
    case Architecture::two_layer:  // rows of B G B^T shift with those of G, because B 1 is a multiple of 1
      for (int row = 0; row < heads * tokens; ++row) add_gaps(row * tokens, tokens, seen, columns);
      break;
    case Architecture::autoregressive:
      for (int row = 0; row < tokens; ++row) add_gaps(row * tokens, row + 1, seen, columns);
      break;
    case Architecture::multi_location:
      add_gaps(1, tokens - 1, seen, columns);
      for (int j = 1; j < tokens; ++j) seen(model.score(j, j, 1), columns++) = 1;
      break;
    case Architecture::linear:
    case Architecture::denoising:
      seen.setIdentity();
      columns = seen.cols();
      break;
    case Architecture::h1:
    case Architecture::h2:
    case Architecture::h3:
      seen(tokens == 1 ? 0 : 1, columns++) = 1;
      break;
  }
  return seen.leftCols(columns);
}

}  // namespace
}  // namespace qklab
