#pragma once

#include <memory>
#include <vector>

#include "amp_denoiser.hpp"
#include "amp_output.hpp"
#include "lab/objective/sweep.hpp"

namespace qklab::lab {

/// What the data answer to a student.
struct AmpAnswer {
  Matrix field;  ///< R
  AmpConjugates hats;
  double loss = 0;       ///< sum over samples at the proximal points
  double competing = 0;  ///< fractions of the samples
  double unconverged = 0;
};

/// One pass of message passing over the data, (9.1) - (9.3): from S and V over the residuals of all samples,
/// which it keeps for the next pass, to R.
template <class Real>
class AmpPass {
 public:
  /// The data set must outlive the pass.
  AmpPass(const Dataset<Real>& data, const Problem& problem, const AmpOutputFactory& output);

  /// The residuals kept are (1 - damping) of those found and `damping` of the last ones. Domain: V > 0.
  AmpAnswer operator()(const Matrix& student, const Sectors& susceptibility, double damping);

 private:
  AmpOutputSums answer(const ScoreBlock& block, const Sectors& susceptibility, double damping);

  struct Workspace;
  ScoreLayout layout_;
  int tokens_;
  Sweep<Real> sweep_;
  std::vector<double> residuals_;  ///< g, [coordinate * n + mu]
  std::vector<std::shared_ptr<Workspace>> workspaces_;
};

}  // namespace qklab::lab
