#pragma once

#include <memory>
#include <optional>

#include "qklab/core/problem.hpp"
#include "qklab/theory/fixed_point/order_parameters.hpp"
#include "qklab/theory/fixed_point/student_spectrum.hpp"

namespace qklab::theory {

/// The student that the matrix side of the state evolution answers with.
struct DenoisedStudent {
  OrderParameters order;
  /// The regulariser: lambda Tr(S)/d (tied), lambda Tr(S^2)/d (direct), lambda |S|_*/d (untied).
  double penalty = 0;
  StudentSpectrum spectrum;
};

/// The matrix side of the state evolution: the minimiser over S of Vhat |S|^2/2 - <mhat S0 + sqrt(qhat) Z, S>
/// plus the penalty, in the limit of high dimension (docs/theory section 2). Tied students of any width
/// ratio, direct ones, and untied ones of full width on one token (there a sample sees the symmetric part of
/// S alone, and the nuclear norm thresholds both ends of the spectrum).
class Denoiser {
 public:
  /// Throws InvalidParameter for an untied student with more than one token or kappa < 1, and for a direct
  /// student with kappa != 1.
  explicit Denoiser(const Problem& problem);

  /// Turns to another problem. The teacher's law, which for a long list of modes is costly to make, is kept
  /// where teacher and d stay. Throws like the constructor.
  void retarget(const Problem& problem);

  /// The same problem at another weight decay, with the same law in one place.
  Denoiser with_weight_decay(double lambda) const;

  /// Nothing unless mhat, qhat and Vhat are > 0 and finite.
  std::optional<DenoisedStudent> operator()(const ConjugateParameters& hats) const;

  /// True when the weight decay is so large that S = 0 answers the given conjugates: b is above the spectrum
  /// of X.
  bool answers_zero(const ConjugateParameters& hats) const;

  const Law& teacher() const { return *teacher_; }

 private:
  DenoisedStudent threshold(const ConjugateParameters& hats) const;
  DenoisedStudent threshold_both_sides(const ConjugateParameters& hats) const;
  DenoisedStudent shrink(const ConjugateParameters& hats) const;

  Problem problem_;
  std::shared_ptr<const Law> teacher_;
  double teacher_self_overlap_;
};

}  // namespace qklab::theory
