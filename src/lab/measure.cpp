#include "qklab/lab/measure.hpp"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "gemm.hpp"
#include "qklab/channel/attention_loss.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/random.hpp"
#include "row_kernels.hpp"
#include "serial_blas.hpp"

extern "C" void dsyevd_(const char* job, const char* triangle, const int* n, double* a, const int* lda,
                        double* eigenvalues, double* work, const int* lwork, int* iwork, const int* liwork,
                        int* info);

namespace qklab::lab {
namespace {

constexpr int samples_a_block = 64;

/// Both models on one block of fresh samples.
class Comparison {
 public:
  Comparison(const Channel& channel, const Matrix& teacher, const Matrix& weights);

  /// ||sigma(h0) - sigma(h)||_F^2 of the samples first .. first + count - 1.
  void square_differences(std::uint64_t seed, long first, int count, double* result);

 private:
  void draw_tokens(std::uint64_t seed, long first, int count);
  void teacher_scores(int count);
  void student_scores(int count);

  const Channel channel_;
  const Matrix& teacher_;
  const Matrix& weights_;
  const int dimension_;
  const int width_;
  const double teacher_trace_;
  const double student_trace_;
  Matrix inputs_;
  Matrix products_;
  std::vector<double> scores_;
  std::vector<double> teacher_attention_;
  std::vector<double> student_attention_;
};

std::vector<double> symmetric_eigenvalues(Eigen::MatrixXd matrix);

}  // namespace

Matrix product_with_transpose(const Matrix& factor) {
  const SerialBlas serial;
  const int d = static_cast<int>(factor.rows());
  const int p = static_cast<int>(factor.cols());
  Matrix product(d, d);
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, d, p, 1.0, factor.data(), p, 0.0, product.data(), d);
  product.triangularView<Eigen::StrictlyUpper>() = product.transpose();
  return product;
}

double overlap(const Matrix& left, const Matrix& right) {
  return left.cwiseProduct(right).sum() / static_cast<double>(left.rows());
}

std::vector<double> eigenvalues_of_product(const Matrix& factor) {
  if (!factor.allFinite()) throw Error("eigenvalues: the matrix holds entries that are not finite");
  const Eigen::Index d = factor.rows();
  const Eigen::Index p = factor.cols();
  const Matrix smaller = p < d ? Matrix(factor.transpose()) : factor;
  std::vector<double> nonzero = symmetric_eigenvalues(product_with_transpose(smaller));
  for (double& value : nonzero) value = std::max(value, 0.0);
  std::vector<double> eigenvalues(static_cast<std::size_t>(d), 0.0);
  std::copy(nonzero.begin(), nonzero.end(), eigenvalues.end() - std::ssize(nonzero));
  return eigenvalues;
}

double zero_fraction(const std::vector<double>& eigenvalues) {
  const double largest = *std::max_element(eigenvalues.begin(), eigenvalues.end());
  if (largest == 0) return 1;
  const auto zeros = std::count_if(eigenvalues.begin(), eigenvalues.end(),
                                   [&](double value) { return value < 1e-3 * largest; });
  return static_cast<double>(zeros) / static_cast<double>(eigenvalues.size());
}

Estimate measure_test_error(const Problem& problem, const Matrix& teacher, const Matrix& weights,
                            long samples, std::uint64_t seed) {
  std::vector<double> errors(static_cast<std::size_t>(samples));
  std::vector<Comparison> comparisons(omp_get_max_threads(),
                                      Comparison(checked(channel_of(problem)), teacher, weights));
  const long blocks = (samples + samples_a_block - 1) / samples_a_block;
#pragma omp parallel for schedule(static)
  for (long block = 0; block < blocks; ++block) {
    const long first = block * samples_a_block;
    const int count = static_cast<int>(std::min<long>(samples_a_block, samples - first));
    comparisons[omp_get_thread_num()].square_differences(seed, first, count, errors.data() + first);
  }
  return mean_and_error(errors);
}

namespace {

Comparison::Comparison(const Channel& channel, const Matrix& teacher, const Matrix& weights)
    : channel_(channel),
      teacher_(teacher),
      weights_(weights),
      dimension_(static_cast<int>(weights.rows())),
      width_(static_cast<int>(weights.cols())),
      teacher_trace_(teacher.trace()),
      student_trace_(weights.squaredNorm()),
      inputs_(samples_a_block * channel.tokens, dimension_),
      products_(samples_a_block * channel.tokens, std::max(dimension_, width_)),
      scores_(static_cast<std::size_t>(samples_a_block) * channel.pair_count()),
      teacher_attention_(static_cast<std::size_t>(samples_a_block) * channel.tokens * channel.tokens),
      student_attention_(teacher_attention_.size()) {}

void Comparison::square_differences(std::uint64_t seed, long first, int count, double* result) {
  draw_tokens(seed, first, count);
  teacher_scores(count);
  attention(channel_, count, scores_.data(), teacher_attention_.data());
  student_scores(count);
  attention(channel_, count, scores_.data(), student_attention_.data());
  const int entries = channel_.tokens * channel_.tokens;
  for (int s = 0; s < count; ++s) {
    result[s] = 0;
    for (int ab = 0; ab < entries; ++ab) {
      const double difference = teacher_attention_[ab * count + s] - student_attention_[ab * count + s];
      result[s] += difference * difference;
    }
  }
}

void Comparison::draw_tokens(std::uint64_t seed, long first, int count) {
  const std::size_t entries = static_cast<std::size_t>(channel_.tokens) * dimension_;
  for (int s = 0; s < count; ++s) {
    RandomStream stream(seed, Purpose::measurement, static_cast<std::uint64_t>(first + s));
    stream.fill_normal(std::span<double>(inputs_.data() + s * entries, entries));
  }
}

void Comparison::teacher_scores(int count) {
  gemm(CblasNoTrans, CblasNoTrans, count * channel_.tokens, dimension_, dimension_, 1.0, inputs_.data(),
       teacher_.data(), 0.0, products_.data());
  row_scores(channel_.tokens, count, dimension_, inputs_.data(), products_.data(), teacher_trace_,
             1 / std::sqrt(dimension_), scores_.data());
}

void Comparison::student_scores(int count) {
  gemm(CblasNoTrans, CblasNoTrans, count * channel_.tokens, width_, dimension_, 1.0, inputs_.data(),
       weights_.data(), 0.0, products_.data());
  row_scores(channel_.tokens, count, width_, products_.data(), products_.data(), student_trace_,
             1 / std::sqrt(dimension_), scores_.data());
}

std::vector<double> symmetric_eigenvalues(Eigen::MatrixXd matrix) {
  const SerialBlas serial;
  const int n = static_cast<int>(matrix.rows());
  std::vector<double> eigenvalues(static_cast<std::size_t>(n));
  const int lwork = std::max(2 * n + 1, 64 * n);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  const int liwork = 1;
  int iwork = 0;
  int info = 0;
  dsyevd_("N", "L", &n, matrix.data(), &n, eigenvalues.data(), work.data(), &lwork, &iwork, &liwork, &info);
  if (info != 0) throw Error("eigenvalues: LAPACK dsyevd did not converge");
  return eigenvalues;
}

}  // namespace
}  // namespace qklab::lab
