#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "lab/data/draw_tokens.hpp"
#include "lab/matrix/gemm.hpp"
#include "lab/matrix/row_kernels.hpp"
#include "qklab/channel/labels/attention_loss.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/student/parameters.hpp"

namespace qklab::lab {
namespace {

constexpr int samples_a_block = 64;

/// Both models on one block of fresh samples.
class Comparison {
 public:
  Comparison(const Problem& problem, const Matrix& teacher, const Matrix& student);

  /// ||sigma(h0) - sigma(h)||_F^2 of the samples first .. first + count - 1.
  void square_differences(std::uint64_t seed, long first, int count, double* result);

 private:
  void attention_of(const Matrix& s, double trace, ScoreLayout layout, int count,
                    std::vector<double>& result);

  const Channel channel_;
  const Matrix& teacher_;
  const Matrix& student_;
  const ScoreLayout student_layout_;
  const int dimension_;
  const double teacher_trace_;
  const double student_trace_;
  Matrix inputs_;
  Matrix products_;
  std::vector<double> scores_;
  std::vector<double> teacher_attention_;
  std::vector<double> student_attention_;
};

}  // namespace

Estimate measure_test_error(const Problem& problem, const Matrix& teacher, const Matrix& student,
                            long samples, std::uint64_t seed) {
  std::vector<double> errors(static_cast<std::size_t>(samples));
  std::vector<Comparison> comparisons(omp_get_max_threads(), Comparison(problem, teacher, student));
  const long blocks = (samples + samples_a_block - 1) / samples_a_block;
#pragma omp parallel for schedule(static)
  for (long block = 0; block < blocks; ++block) {
    const long first = block * samples_a_block;
    const int count = static_cast<int>(std::min<long>(samples_a_block, samples - first));
    comparisons[omp_get_thread_num()].square_differences(seed, first, count, errors.data() + first);
  }
  return mean_and_error(errors);
}

double measurement_bytes(const Problem& problem, long test_samples, int threads) {
  const double d = problem.dimension;
  const double tokens = problem.tokens;
  const double comparison = samples_a_block * tokens * (2 * d + 3 * tokens);
  // Parameters and student, parts of it, two sets of modes and what LAPACK needs to find them.
  const double matrices = parameter_count(problem) + 9 * d * d;
  return 8 * (static_cast<double>(test_samples) + (threads + 1) * comparison + matrices);
}

namespace {

Comparison::Comparison(const Problem& problem, const Matrix& teacher, const Matrix& student)
    : channel_(checked(channel_of(problem))),
      teacher_(teacher),
      student_(student),
      student_layout_(problem.parametrization == Parametrization::untied ? ScoreLayout::full
                                                                         : ScoreLayout::pairs),
      dimension_(problem.dimension),
      teacher_trace_(teacher.trace()),
      student_trace_(student.trace()),
      inputs_(samples_a_block * channel_.tokens, dimension_),
      products_(samples_a_block * channel_.tokens, dimension_),
      scores_(static_cast<std::size_t>(samples_a_block) * channel_.tokens * channel_.tokens),
      teacher_attention_(scores_.size()),
      student_attention_(scores_.size()) {}

void Comparison::square_differences(std::uint64_t seed, long first, int count, double* result) {
  const std::size_t numbers = static_cast<std::size_t>(count) * channel_.tokens * dimension_;
  draw_tokens(seed, Purpose::measurement, first, count, std::span<double>(inputs_.data(), numbers));
  attention_of(teacher_, teacher_trace_, ScoreLayout::pairs, count, teacher_attention_);
  attention_of(student_, student_trace_, student_layout_, count, student_attention_);
  const int entries = channel_.tokens * channel_.tokens;
  for (int s = 0; s < count; ++s) {
    result[s] = 0;
    for (int ab = 0; ab < entries; ++ab) {
      const double difference = teacher_attention_[ab * count + s] - student_attention_[ab * count + s];
      result[s] += difference * difference;
    }
  }
}

void Comparison::attention_of(const Matrix& s, double trace, ScoreLayout layout, int count,
                              std::vector<double>& result) {
  // Row-major S^T = S column-major: x_a . (S x_b) with the rows of X S^T.
  gemm(CblasNoTrans, CblasTrans, count * channel_.tokens, dimension_, dimension_, 1.0, inputs_.data(),
       s.data(), 0.0, products_.data());
  row_scores<double>({layout, channel_.tokens, count, dimension_}, {inputs_.data(), dimension_},
                     {products_.data(), dimension_}, trace, 1 / std::sqrt(dimension_), scores_.data());
  attention(channel_, count, scores_.data(), result.data(), layout);
}

}  // namespace
}  // namespace qklab::lab
