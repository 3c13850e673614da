#pragma once

#include <memory>

#include "qklab/dynamics/population/symmetric_loss.hpp"

namespace qklab::dynamics {

/// Student and teacher overlaps with the part of the student that is independent of the teacher >= 0.
struct PairOverlaps {
  double teacher = 1;     ///< Q0
  double overlap = 0;     ///< m
  double student = 0;     ///< q = m^2/Q0 + orthogonal
  double orthogonal = 0;  ///< q - m^2/Q0
};

/// How a sample loss is averaged.
struct SymmetricLoss::Form {
  virtual ~Form() = default;
  virtual LossSlopes slopes(const PairOverlaps& overlaps) const = 0;
  virtual double noise_strength(const PairOverlaps& overlaps) const = 0;
};

/// Polynomials of the scores, entry by entry.
std::unique_ptr<SymmetricLoss::Form> hermite_form(const SampleLoss& loss);
/// Two tokens of softmax.
std::unique_ptr<SymmetricLoss::Form> paired_softmax_form(double beta);
/// Any number of tokens of softmax, sampled.
std::unique_ptr<SymmetricLoss::Form> sampled_softmax_form(int tokens, double beta, const QmcOptions& qmc);

}  // namespace qklab::dynamics
