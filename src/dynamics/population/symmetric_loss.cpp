#include "qklab/dynamics/population/symmetric_loss.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "loss_form.hpp"
#include "qklab/core/error.hpp"

namespace qklab::dynamics {
namespace {

std::unique_ptr<SymmetricLoss::Form> form_of(const SampleLoss& loss, const QmcOptions& qmc);
PairOverlaps pair_overlaps(double q0, double m, double q);

}  // namespace

SymmetricLoss::SymmetricLoss(const SampleLoss& loss, double teacher_self_overlap, QmcOptions qmc)
    : sample_(checked(loss)), teacher_self_overlap_(teacher_self_overlap) {
  if (!(teacher_self_overlap > 0 && std::isfinite(teacher_self_overlap))) {
    throw InvalidParameter("teacher self-overlap", teacher_self_overlap, "Q0 must be > 0 and finite");
  }
  form_ = form_of(loss, qklab::checked(qmc));
}

SymmetricLoss::~SymmetricLoss() = default;
SymmetricLoss::SymmetricLoss(SymmetricLoss&&) noexcept = default;
SymmetricLoss& SymmetricLoss::operator=(SymmetricLoss&&) noexcept = default;

LossSlopes SymmetricLoss::slopes(double overlap, double self_overlap) const {
  return form_->slopes(pair_overlaps(teacher_self_overlap_, overlap, self_overlap));
}

double SymmetricLoss::noise_strength(double overlap, double self_overlap) const {
  return form_->noise_strength(pair_overlaps(teacher_self_overlap_, overlap, self_overlap));
}

const SampleLoss& SymmetricLoss::sample() const {
  return sample_;
}

double SymmetricLoss::teacher_self_overlap() const {
  return teacher_self_overlap_;
}

SampleLoss checked(SampleLoss loss) {
  const bool by_entry = loss.activation != Activation::softmax;
  const bool one_pair = loss.entries == SampleLoss::Entries::one_pair;
  if (one_pair && !by_entry) {
    throw InvalidParameter("entries", "one pair", "the softmax of a pair needs the whole row");
  }
  const int fewest = by_entry && !one_pair ? 1 : 2;
  if (loss.tokens < fewest) {
    throw InvalidParameter("tokens", std::to_string(loss.tokens),
                           "must be >= " + std::to_string(fewest) + " for this loss");
  }
  if (!(loss.beta > 0 && std::isfinite(loss.beta))) {
    throw InvalidParameter("beta", loss.beta, "must be > 0 and finite");
  }
  return loss;
}

SampleLoss sample_loss_of(const Problem& problem) {
  return checked(SampleLoss{problem.activation, problem.tokens, problem.beta, SampleLoss::Entries::all});
}

namespace {

std::unique_ptr<SymmetricLoss::Form> form_of(const SampleLoss& loss, const QmcOptions& qmc) {
  if (loss.activation != Activation::softmax) return hermite_form(loss);
  if (loss.tokens == 2) return paired_softmax_form(loss.beta);
  return sampled_softmax_form(loss.tokens, loss.beta, qmc);
}

PairOverlaps pair_overlaps(double q0, double m, double q) {
  const double aligned = m * m / q0;
  const double orthogonal = std::max(0.0, q - aligned);
  return {q0, m, aligned + orthogonal, orthogonal};
}

}  // namespace
}  // namespace qklab::dynamics
