#pragma once

#include <span>
#include <vector>

#include "online_student.hpp"
#include "qklab/core/random.hpp"

namespace qklab::lab {

/// Draws fresh samples in chunks, labels them by the teachers, and takes losses and gradients of a student on
/// them. Sample i of a purpose is a function of (seed, purpose, i) alone.
template <class Real>
class OnlineBatch {
 public:
  OnlineBatch(const AttentionIndexedModel& model, const std::vector<Matrix>& teachers,
              const OnlineStudent<Real>& student, std::uint64_t seed);

  /// What one thread works in.
  struct Workspace {
    std::vector<Real> tokens;       ///< X
    std::vector<Real> products;     ///< Z = X P
    std::vector<Real> mixed;        ///< M
    std::vector<Real> projections;  ///< X F, F the teachers' factors
    std::vector<double> scores;
    std::vector<double> teacher_scores;
    std::vector<double> part;
    std::vector<double> noise;
    std::vector<double> losses;
    std::vector<double> slopes;
  };

  struct Sums {
    double loss = 0;
    double square_loss = 0;
    std::vector<double> centre_slopes;  ///< sum over samples and pairs of g_ijk C_ij, one a head
  };

  /// `count` samples from `first` on, at parameters P (d x columns, in Real) and traces Tr S_k. Writes X^T M,
  /// the gradient of sqrt d times the summed loss but for the traces in the scores, unless `gradient` is
  /// null.
  Sums evaluate(Purpose purpose, long first, int count, const Real* parameters,
                std::span<const double> traces, Workspace& work, Real* gradient) const;

  /// Samples of a chunk whose products keep BLAS busy.
  int chunk_samples() const;

 private:
  /// Signed factors of the teachers: S0_k = A A^T - B B^T, columns of A and B one after another.
  struct TeacherFactor {
    int first = 0;
    int positive = 0;
    int negative = 0;
  };

  void draw(Purpose purpose, long first, int count, Workspace& work) const;
  void label(Purpose purpose, long first, int count, Workspace& work) const;
  void centre(int heads, int count, std::span<const double> traces, double* scores) const;

  const AttentionIndexedModel& model_;
  const OnlineStudent<Real>& student_;
  std::uint64_t seed_;
  int dimension_;
  bool correlated_ = false;
  Matrix mixing_;  ///< square root of C
  std::vector<Real> factors_;
  int factor_columns_ = 0;
  std::vector<TeacherFactor> places_;
  std::vector<double> teacher_traces_;
};

}  // namespace qklab::lab
