#include "qklab/lab/data/dataset.hpp"

#include <omp.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "chunks.hpp"
#include "draw_tokens.hpp"
#include "lab/matrix/gemm.hpp"
#include "lab/matrix/row_kernels.hpp"
#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "qklab/lab/student/parameters.hpp"

namespace qklab::lab {
namespace {

/// Draws blocks of samples; each thread has its own.
template <class Real>
class Sampler {
 public:
  Sampler(const Problem& problem, const Matrix& teacher, std::uint64_t seed);

  /// Samples first .. first + count - 1, written to their places in `data`; returns their share of the
  /// constant.
  double draw(long first, int count, Dataset<Real>& data);

 private:
  void draw_scores(long first, int count);
  void add_label_noise(long first, int count);
  double mix_tokens(long first, int count);
  double project_label(int sample, int count, const Matrix& noise);
  RowBlock block(int count) const { return {ScoreLayout::pairs, tokens_, count, d_}; }

  const Problem& problem_;
  const Matrix& teacher_;
  const std::uint64_t seed_;
  const Channel channel_;
  const int d_;
  const int tokens_;
  const double teacher_trace_;
  std::vector<double> inputs_;
  std::vector<double> products_;
  std::vector<double> scores_;
  std::vector<double> correlation_;
  std::vector<double> gram_;
};

template <class Real>
Dataset<Real> empty_dataset(const Problem& problem, std::uint64_t seed, TokenStorage storage,
                            const Ranks& ranks);

/// Copies the rows of a block (count entries each) to columns first .. of the rows of the data set (n entries
/// each).
void store_rows(const std::vector<double>& block, int count, long first, long samples,
                std::vector<double>& rows);

}  // namespace

template <class Real>
Dataset<Real> draw_dataset(const Problem& problem, const Matrix& teacher, std::uint64_t seed,
                           const DrawOptions& options, const Ranks& ranks) {
  Dataset<Real> data = empty_dataset<Real>(problem, seed, options.storage, ranks);
  std::vector<double> constants(
      static_cast<std::size_t>((data.whole + samples_a_group - 1) / samples_a_group));
  std::vector<Sampler<Real>> samplers(omp_get_max_threads(), Sampler<Real>(problem, teacher, seed));
  // Parts begin with a group.
  const long first_group = data.first / samples_a_group;
  const long groups = (data.samples + samples_a_group - 1) / samples_a_group;
#pragma omp parallel for schedule(static)
  for (long group = 0; group < groups; ++group) {
    if (options.stop.requested()) continue;
    const long first = (first_group + group) * samples_a_group;
    const int count = static_cast<int>(std::min<long>(samples_a_group, data.first + data.samples - first));
    constants[first_group + group] = samplers[omp_get_thread_num()].draw(first, count, data);
    if (omp_get_thread_num() == 0 && options.progress) {
      const double done =
          static_cast<double>(group + 1) * omp_get_num_threads() / static_cast<double>(groups);
      options.progress({"data", std::min(1.0, done), 1.0});
    }
  }
  sum_over_ranks(ranks, constants);
  for (double constant : constants) data.constant += constant;
  return data;
}

void require_independent_tokens(const Problem& problem) {
  if (problem.task == Task::seq2seq && problem.tokens > problem.dimension) {
    throw InvalidParameter("tokens", problem.tokens,
                           "task seq2seq needs linearly independent tokens: T must be <= dimension = " +
                               std::to_string(problem.dimension));
  }
}

double dataset_bytes(const Problem& problem, int bytes_per_real, TokenStorage storage, int threads,
                     int ranks) {
  const double samples = problem.alpha * problem.dimension * problem.dimension * largest_share(ranks);
  const double tokens = problem.tokens;
  const double grams = problem.task == Task::seq2seq ? tokens * (tokens + 1) / 2 : 0;
  const double inputs = storage == TokenStorage::stored ? tokens * problem.dimension * bytes_per_real : 0;
  const double data = samples * (inputs + 8 * (tokens * tokens + grams));
  const double sampler = 8.0 * samples_a_group * tokens * (2.0 * problem.dimension + 3 * tokens);
  return data + (threads + 1) * sampler;
}

namespace {

template <class Real>
Sampler<Real>::Sampler(const Problem& problem, const Matrix& teacher, std::uint64_t seed)
    : problem_(problem),
      teacher_(teacher),
      seed_(seed),
      channel_(checked(channel_of(problem))),
      d_(problem.dimension),
      tokens_(problem.tokens),
      teacher_trace_(teacher.trace()),
      inputs_(static_cast<std::size_t>(samples_a_group) * tokens_ * d_),
      products_(inputs_.size()) {}

template <class Real>
double Sampler<Real>::draw(long first, int count, Dataset<Real>& data) {
  const std::size_t entries = static_cast<std::size_t>(count) * tokens_ * d_;
  draw_tokens(seed_, Purpose::tokens, first, count, std::span<double>(inputs_).first(entries));
  draw_scores(first, count);
  correlation_.resize(static_cast<std::size_t>(count) * tokens_ * tokens_);
  attention(channel_, count, scores_.data(), correlation_.data());
  double constant = 0;
  if (problem_.task == Task::seq2lab) {
    add_label_noise(first, count);
    for (double y : correlation_) constant += y * y;
  } else {
    constant = mix_tokens(first, count);
    store_rows(gram_, count, first - data.first, data.samples, data.gram);
  }
  store_rows(correlation_, count, first - data.first, data.samples, data.correlation);
  if (data.inputs.empty()) return constant;
  std::transform(inputs_.begin(), inputs_.begin() + static_cast<std::ptrdiff_t>(entries),
                 data.inputs.begin() + static_cast<std::ptrdiff_t>((first - data.first) * tokens_ * d_),
                 [](double value) { return static_cast<Real>(value); });
  return constant;
}

/// h0 + sqrt(noise_in) xi.
template <class Real>
void Sampler<Real>::draw_scores(long first, int count) {
  scores_.resize(static_cast<std::size_t>(count) * channel_.pair_count());
  gemm(CblasNoTrans, CblasNoTrans, count * tokens_, d_, d_, 1.0, inputs_.data(), teacher_.data(), 0.0,
       products_.data());
  row_scores<double>(block(count), {inputs_.data(), d_}, {products_.data(), d_}, teacher_trace_,
                     1 / std::sqrt(d_), scores_.data());
  if (problem_.noise_in == 0) return;
  for (int s = 0; s < count; ++s) {
    RandomStream stream(seed_, Purpose::noise_in, static_cast<std::uint64_t>(first + s));
    double* score = scores_.data() + s;
    for (int a = 0; a < tokens_; ++a) {
      for (int b = a; b < tokens_; ++b, score += count) {
        *score += std::sqrt(problem_.noise_in * (a == b ? 2 : 1)) * stream.normal();
      }
    }
  }
}

template <class Real>
void Sampler<Real>::add_label_noise(long first, int count) {
  if (problem_.noise_out == 0) return;
  for (int s = 0; s < count; ++s) {
    RandomStream stream(seed_, Purpose::noise_out, static_cast<std::uint64_t>(first + s));
    for (int ab = 0; ab < tokens_ * tokens_; ++ab) {
      correlation_[ab * count + s] += std::sqrt(problem_.noise_out) * stream.normal();
    }
  }
}

/// From A0 to C = x x^T/d and R = y x^T/d with y = A0 x + sqrt(d noise_out) eta; returns the sum of Tr R C^-1
/// R^T.
template <class Real>
double Sampler<Real>::mix_tokens(long first, int count) {
  gram_.resize(static_cast<std::size_t>(count) * channel_.pair_count());
  const Rows<const double> inputs{inputs_.data(), d_};
  row_scores(block(count), inputs, inputs, 0, 1.0 / d_, gram_.data());
  Matrix noise = Matrix::Zero(tokens_, d_);
  double constant = 0;
  for (int s = 0; s < count; ++s) {
    if (problem_.noise_out > 0) {
      RandomStream stream(seed_, Purpose::noise_out, static_cast<std::uint64_t>(first + s));
      stream.fill_normal(std::span<double>(noise.data(), static_cast<std::size_t>(noise.size())));
      noise *= std::sqrt(d_ * problem_.noise_out);
    }
    constant += project_label(s, count, noise);
  }
  return constant;
}

/// R = A0 C + noise x^T/d of one sample, in place of A0; returns Tr R C^-1 R^T.
template <class Real>
double Sampler<Real>::project_label(int sample, int count, const Matrix& noise) {
  const Eigen::Map<const Matrix> x(inputs_.data() + static_cast<std::size_t>(sample) * tokens_ * d_, tokens_,
                                   d_);
  Matrix c(tokens_, tokens_);
  for (int a = 0, pair = 0; a < tokens_; ++a) {
    for (int b = a; b < tokens_; ++b, ++pair) c(a, b) = c(b, a) = gram_[pair * count + sample];
  }
  using Strided = Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>>;
  Strided label(correlation_.data() + sample, tokens_ * tokens_, Eigen::InnerStride<>(count));
  Matrix r(tokens_, tokens_);
  for (int ab = 0; ab < tokens_ * tokens_; ++ab) r.data()[ab] = label[ab];
  r = (r * c).eval() + noise.lazyProduct(x.transpose()) / d_;
  for (int ab = 0; ab < tokens_ * tokens_; ++ab) label[ab] = r.data()[ab];
  return Eigen::LLT<Matrix>(c).solve(r.transpose()).cwiseProduct(r.transpose()).sum();
}

template <class Real>
Dataset<Real> empty_dataset(const Problem& problem, std::uint64_t seed, TokenStorage storage,
                            const Ranks& ranks) {
  require_independent_tokens(problem);
  Dataset<Real> data;
  data.dimension = problem.dimension;
  data.tokens = problem.tokens;
  data.whole = sample_count(problem);
  const Chunks chunks =
      chunks_of(data.whole, problem.tokens, problem.dimension, parameter_columns(problem), sizeof(Real));
  data.first = chunks.begin(chunks.first_of_rank(ranks.rank, ranks.size));
  data.samples = chunks.begin(chunks.first_of_rank(ranks.rank + 1, ranks.size)) - data.first;
  data.seed = seed;
  const auto n = static_cast<std::size_t>(data.samples);
  const auto tokens = static_cast<std::size_t>(problem.tokens);
  if (storage == TokenStorage::stored) data.inputs.resize(n * tokens * problem.dimension);
  data.correlation.resize(n * tokens * tokens);
  if (problem.task == Task::seq2seq) data.gram.resize(n * tokens * (tokens + 1) / 2);
  return data;
}

void store_rows(const std::vector<double>& block, int count, long first, long samples,
                std::vector<double>& rows) {
  const auto row_count = static_cast<long>(block.size()) / count;
  for (long row = 0; row < row_count; ++row) {
    std::copy_n(block.begin() + row * count, count, rows.begin() + row * samples + first);
  }
}

}  // namespace

template Dataset<float> draw_dataset(const Problem&, const Matrix&, std::uint64_t, const DrawOptions&,
                                     const Ranks&);
template Dataset<double> draw_dataset(const Problem&, const Matrix&, std::uint64_t, const DrawOptions&,
                                      const Ranks&);

}  // namespace qklab::lab
