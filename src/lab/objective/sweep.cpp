#include "sweep.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lab/matrix/serial_blas.hpp"
#include "qklab/lab/data/token_blocks.hpp"

namespace qklab::lab {
namespace {

/// Rows of a data set (n entries each) cut to the samples first .. first + count - 1.
void load_rows(const std::vector<double>& rows, long samples, long first, int count,
               std::vector<double>& block);

/// Sum of G_aa over the samples of a block.
double sum_of_diagonal(int tokens, int count, ScoreLayout layout, const std::vector<double>& slopes);

}  // namespace

template <class Real>
struct Sweep<Real>::Workspace {
  explicit Workspace(const Dataset<Real>& data) : inputs(data) {}

  TokenBlocks<Real> inputs;       ///< X
  std::vector<Real> projections;  ///< Z = X P
  std::vector<Real> mixed;        ///< M
  std::vector<double> scores;
  std::vector<double> slopes;  ///< G
  std::vector<double> correlation;
  std::vector<double> gram;
};

template <class Real>
Sweep<Real>::Sweep(const Dataset<Real>& data, std::shared_ptr<const Student<Real>> student, int block_samples,
                   Ranks ranks)
    : data_(data),
      student_(std::move(student)),
      ranks_(std::move(ranks)),
      chunks_(chunks_of(data.whole, data.tokens, data.dimension, student_->columns(), sizeof(Real))),
      first_chunk_(chunks_.first_of_rank(ranks_.rank, ranks_.size)),
      end_chunk_(chunks_.first_of_rank(ranks_.rank + 1, ranks_.size)),
      matrix_(static_cast<std::size_t>(data.dimension) * student_->columns()),
      chunk_products_(matrix_.size() * (end_chunk_ - first_chunk_)) {
  if (block_samples > 0) chunks_.block = block_samples;
}

template <class Real>
double Sweep<Real>::operator()(std::span<const double> parameters, const SlopeRule& rule,
                               std::span<double> product) {
  student_->load(parameters, matrix_);
  const double trace = student_->trace(parameters);
  std::vector<double> trace_slopes(chunks_.count);
  const int threads = fitting_threads();
  std::vector<Workspace> workspaces(threads, Workspace(data_));
  const SerialBlas serial;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int chunk = first_chunk_; chunk < end_chunk_; ++chunk) {
    trace_slopes[chunk] = sweep_chunk(chunk, trace, rule, workspaces[omp_get_thread_num()]);
  }
  ranks_.sum(product, [&](long first, std::span<double> part) { add_chunks(threads, first, part); });
  return total(std::move(trace_slopes));
}

template <class Real>
double Sweep<Real>::total(std::vector<double> values) const {
  sum_over_ranks(ranks_, values);
  double sum = 0;
  for (double value : values) sum += value;
  return sum;
}

/// Starting a thread costs as much as some ten million flops when cores are busy.
template <class Real>
int Sweep<Real>::fitting_threads() const {
  constexpr double flops_a_thread = 1e7;
  const double flops = 4.0 * static_cast<double>(data_.samples) * data_.tokens * static_cast<double>(size());
  return std::clamp(static_cast<int>(std::min(flops / flops_a_thread, 1e9)), 1, omp_get_max_threads());
}

template <class Real>
double Sweep<Real>::sweep_chunk(int chunk, double trace, const SlopeRule& rule, Workspace& work) {
  const int tokens = data_.tokens;
  const int columns = student_->columns();
  const ScoreLayout layout = student_->layout();
  const int score_count = layout == ScoreLayout::full ? tokens * tokens : tokens * (tokens + 1) / 2;
  const long begin = chunks_.begin(chunk) - data_.first;
  const long end = chunks_.begin(chunk + 1) - data_.first;
  Real* product = chunk_products_.data() + static_cast<std::size_t>(chunk - first_chunk_) * matrix_.size();
  const long blocks = (end - begin + chunks_.block - 1) / chunks_.block;
  const long largest = (end - begin + blocks - 1) / blocks;
  work.projections.resize(static_cast<std::size_t>(largest) * tokens * columns);
  work.mixed.resize(work.projections.size());
  work.scores.resize(static_cast<std::size_t>(largest) * score_count);
  work.slopes.resize(work.scores.size());
  double trace_slope = 0;
  for (long block = 0; block < blocks; ++block) {
    const long first = begin + (end - begin) * block / blocks;
    const int count = static_cast<int>(begin + (end - begin) * (block + 1) / blocks - first);
    const int rows = count * tokens;
    const Real* x = work.inputs.read(first, count);
    student_->project(rows, x, matrix_.data(), work.projections.data());
    student_->scores(count, x, work.projections.data(), trace, work.scores.data());
    load_rows(data_.correlation, data_.samples, first, count, work.correlation);
    load_rows(data_.gram, data_.samples, first, count, work.gram);
    rule({chunk, omp_get_thread_num(), first, count, work.scores.data(), work.correlation.data(),
          work.gram.empty() ? nullptr : work.gram.data(), work.slopes.data()});
    student_->mix(count, work.slopes.data(), x, work.projections.data(), work.mixed.data());
    student_->gather(rows, x, work.mixed.data(), block == 0 ? Real{0} : Real{1}, product);
    trace_slope += sum_of_diagonal(tokens, count, layout, work.slopes);
  }
  return trace_slope;
}

/// Adds the products of this rank's chunks in their order to the entries first, first + 1, ... of a sum.
template <class Real>
void Sweep<Real>::add_chunks(int threads, long first, std::span<double> part) const {
  const auto entries = static_cast<long>(part.size());
  constexpr long tile = 512;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (long begin = 0; begin < entries; begin += tile) {
    const long end = std::min(begin + tile, entries);
    std::array<double, tile> sum;
    std::copy_n(part.begin() + begin, end - begin, sum.begin());
    for (int chunk = 0; chunk < end_chunk_ - first_chunk_; ++chunk) {
      const Real* product = chunk_products_.data() + chunk * matrix_.size() + first;
      for (long i = begin; i < end; ++i) sum[i - begin] += product[i];
    }
    std::copy_n(sum.begin(), end - begin, part.begin() + begin);
  }
}

double sweep_bytes(const Problem& problem, double columns, int bytes_per_real, int threads, int ranks) {
  const double matrix = problem.dimension * columns * bytes_per_real;
  const double samples = chunks_of(1, problem.tokens, problem.dimension, columns, bytes_per_real).block;
  const double block_rows = samples * problem.tokens;
  const double scores = 8 * samples * problem.tokens * (4.0 * problem.tokens);
  const double block = block_rows * (problem.dimension + 2 * columns) * bytes_per_real;
  return (most_chunks * largest_share(ranks) + 1) * matrix + threads * (block + scores);
}

namespace {

void load_rows(const std::vector<double>& rows, long samples, long first, int count,
               std::vector<double>& block) {
  const auto row_count = static_cast<long>(rows.size()) / samples;
  block.resize(static_cast<std::size_t>(row_count) * count);
  for (long row = 0; row < row_count; ++row) {
    std::copy_n(rows.begin() + row * samples + first, count, block.begin() + row * count);
  }
}

double sum_of_diagonal(int tokens, int count, ScoreLayout layout, const std::vector<double>& slopes) {
  double sum = 0;
  for (int a = 0, row = 0; a < tokens; ++a) {
    for (int s = 0; s < count; ++s) sum += slopes[row * count + s];
    row += layout == ScoreLayout::full ? tokens + 1 : tokens - a;
  }
  return sum;
}

}  // namespace

template class Sweep<float>;
template class Sweep<double>;

}  // namespace qklab::lab
