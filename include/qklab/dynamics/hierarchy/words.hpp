#pragma once

#include <vector>

#include "qklab/core/progress.hpp"
#include "qklab/dynamics/population/symmetric_loss.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"
#include "qklab/dynamics/trajectory/trajectory.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab::dynamics {

struct WordOptions {
  int order = 8;            ///< longest word kept, 2..14
  double weight_decay = 0;  ///< g >= 0, as in FlowOptions
  double nu = 0;            ///< step size * d/batch >= 0, the noise of finite steps
  double agreement = 1e-3;  ///< of m and q with the hierarchy two orders below, while it is trusted
  double tolerance = 1e-9;  ///< of an integration step
  int max_steps = 20000;
  StopToken stop{};
};

/// Number of moments of a hierarchy: cyclic words in S and S0 up to reversal with at least one S and at most
/// `order` letters (3, 11, 30, 76, 198 for 2, 4, 6, 8, 10). Domain: order 1..14.
int word_count(int order);

/// The hierarchy of moments Tr[S^a S0^b S^c ...]/d of a tied student, cut by dropping words longer than
/// `order` (docs/theory section 10.5.3): the object of arXiv 2609.03858.
///
/// Dropping is an expansion in time with a finite radius: exponentially good in the order within a horizon,
/// worse with every order beyond it. `trusted_until` of the result is the last time asked for at which orders
/// M and M - 2 agree (0 when none does); tied_flow has no horizon. Moments at the start are those of free
/// variables, exact in the limit. Outcome diverged: the cut hierarchy left the domain; points up to there.
/// Throws InvalidParameter for arguments outside their domain.
Trajectory word_hierarchy(const SymmetricLoss& loss, const Law& teacher, const TiedStart& start,
                          const std::vector<double>& times, const WordOptions& options = {});

}  // namespace qklab::dynamics
