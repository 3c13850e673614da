#pragma once

#include <limits>

namespace qklab::lab {

/// How much of the last residuals the next ones keep (docs/theory section 9.4): as little as allowed, until
/// the change of S has not fallen by a tenth for a while, as where two iterates alternate and approach each
/// other slowly; then more and more.
class AmpDamping {
 public:
  AmpDamping(double least, bool when_needed) : when_needed_(when_needed), current_(least) {}

  double current() const { return current_; }

  /// Takes the relative change of S in a step; false when more damping will not help.
  bool follow(double change);

 private:
  bool when_needed_;
  double current_;
  double lowest_ = std::numeric_limits<double>::infinity();
  int waited_ = 0;
};

}  // namespace qklab::lab
