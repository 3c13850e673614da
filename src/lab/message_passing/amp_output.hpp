#pragma once

#include <functional>
#include <memory>

#include "qklab/lab/message_passing/amp.hpp"

namespace qklab::lab {

/// A block of samples on the output side, in white coordinates (docs/theory sections 1.4 and 8.1): T(T+1)/2
/// symmetric ones packed like h and, where S has an antisymmetric part, T(T-1)/2 antisymmetric ones after
/// them. Rows hold `count` values, one a sample.
struct AmpBlock {
  int count;
  const double* centers;      ///< w
  const double* scores;       ///< e(S); at the fixed point the proximal points
  const double* correlation;  ///< R, T x T rows (lab/data/dataset.hpp): the label itself for seq2lab
  const double* gram;         ///< C, a <= b row by row; null stands for the identity
  double* residuals;          ///< g: to be written
};

/// Sums over samples.
struct AmpOutputSums {
  Sectors residual_square;  ///< |g|^2
  Sectors divergence;       ///< div_w g
  double loss = 0;
  double competing = 0;    ///< samples whose proximal problem has several minima
  double unconverged = 0;  ///< samples whose proximal problem did not reach its tolerance

  void add(const AmpOutputSums& other);
};

/// The output side of message passing, (9.2): from the fields w of a sample and the susceptibility V to the
/// residual g. One object a thread, so that it may keep work space.
class AmpOutput {
 public:
  virtual ~AmpOutput() = default;
  /// Domain: V > 0 in every sector that the student has.
  virtual AmpOutputSums residuals(const AmpBlock& block, const Sectors& susceptibility) = 0;
};

/// Makes an output side for each thread.
using AmpOutputFactory = std::function<std::unique_ptr<AmpOutput>()>;

/// Empirical risk minimisation: g of the proximal map (2.1), untied students of several tokens (8.3).
AmpOutputFactory erm_output(const Problem& problem);

/// The posterior mean: g = grad_w log Z (docs/theory section 5.4). The loss is NaN. Throws InvalidParameter
/// like BayesResidual.
AmpOutputFactory bayes_output(const Problem& problem);

}  // namespace qklab::lab
