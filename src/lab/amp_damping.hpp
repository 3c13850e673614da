#pragma once

namespace qklab::lab {

/// How much of the last iterate the next one keeps. Nothing, until the residual of the undamped step has not
/// fallen by a tenth for a while, as where two iterates alternate and approach each other slowly; then more
/// and more.
class AmpDamping {
 public:
  explicit AmpDamping(bool allowed) : allowed_(allowed) {}

  double current() const { return current_; }

  /// Takes the residual of an undamped step; false when more damping will not help.
  bool follow(double residual);

 private:
  bool allowed_;
  double current_ = 0;
  double lowest_ = 1e300;
  int waited_ = 0;
};

}  // namespace qklab::lab
