#include "sweep.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "qklab/lab/token_blocks.hpp"
#include "serial_blas.hpp"

namespace qklab::lab {
namespace {

/// More chunks would cost memory (one product each), fewer would leave cores idle.
constexpr int most_chunks = 64;

int fitting_block(int tokens, int dimension, double columns, int bytes_per_real);

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
Sweep<Real>::Sweep(const Dataset<Real>& data, std::shared_ptr<const Student<Real>> student, int block_samples)
    : data_(data), student_(std::move(student)) {
  const int fitting = block_samples > 0 ? block_samples
                                        : fitting_block(data.tokens, data.dimension, student_->columns(),
                                                        static_cast<int>(sizeof(Real)));
  block_ = static_cast<int>(std::min<long>(fitting, data.samples));
  chunks_ = static_cast<int>(std::min<long>(most_chunks, (data.samples + block_ - 1) / block_));
  matrix_.resize(static_cast<std::size_t>(data.dimension) * student_->columns());
  chunk_products_.resize(matrix_.size() * chunks_);
}

template <class Real>
double Sweep<Real>::operator()(std::span<const double> parameters, const SlopeRule& rule,
                               std::span<double> product) {
  student_->load(parameters, matrix_);
  const double trace = student_->trace(parameters);
  std::vector<double> trace_slopes(chunks_);
  const int threads = fitting_threads();
  std::vector<Workspace> workspaces(threads, Workspace(data_));
  const SerialBlas serial;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int chunk = 0; chunk < chunks_; ++chunk) {
    trace_slopes[chunk] = sweep_chunk(chunk, trace, rule, workspaces[omp_get_thread_num()]);
  }
  add_chunks(threads, product);
  double trace_slope = 0;
  for (double slope : trace_slopes) trace_slope += slope;
  return trace_slope;
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
  const long begin = data_.samples * chunk / chunks_;
  const long end = data_.samples * (chunk + 1) / chunks_;
  Real* product = chunk_products_.data() + static_cast<std::size_t>(chunk) * matrix_.size();
  work.projections.resize(static_cast<std::size_t>(block_) * tokens * columns);
  work.mixed.resize(work.projections.size());
  work.scores.resize(static_cast<std::size_t>(block_) * score_count);
  work.slopes.resize(work.scores.size());
  double trace_slope = 0;
  const long blocks = (end - begin + block_ - 1) / block_;
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

/// The products of the chunks, summed in their order.
template <class Real>
void Sweep<Real>::add_chunks(int threads, std::span<double> product) const {
  const auto entries = static_cast<long>(product.size());
  constexpr long tile = 512;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (long begin = 0; begin < entries; begin += tile) {
    const long end = std::min(begin + tile, entries);
    std::array<double, tile> sum{};
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      const Real* chunk_product = chunk_products_.data() + chunk * entries;
      for (long i = begin; i < end; ++i) sum[i - begin] += chunk_product[i];
    }
    std::copy_n(sum.begin(), end - begin, product.begin() + begin);
  }
}

double sweep_bytes(const Problem& problem, double columns, int bytes_per_real, int threads) {
  const double matrix = problem.dimension * columns * bytes_per_real;
  const int fitting = fitting_block(problem.tokens, problem.dimension, columns, bytes_per_real);
  const double block_rows = static_cast<double>(fitting) * problem.tokens;
  const double scores = 8.0 * fitting * problem.tokens * (4.0 * problem.tokens);
  const double block = block_rows * (problem.dimension + 2 * columns) * bytes_per_real;
  return (most_chunks + 1) * matrix + threads * (block + scores);
}

namespace {

/// X, Z and M of a block stay in a megabyte; fewer than 128 rows starve the matrix products.
int fitting_block(int tokens, int dimension, double columns, int bytes_per_real) {
  constexpr double cache_bytes = 1 << 20;
  constexpr double fewest_rows = 128;
  constexpr double most_rows = 2048;
  const double row_bytes = (dimension + 2 * columns) * bytes_per_real;
  const double rows = std::clamp(cache_bytes / row_bytes, fewest_rows, most_rows);
  return std::max(1, static_cast<int>(rows / tokens));
}

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
