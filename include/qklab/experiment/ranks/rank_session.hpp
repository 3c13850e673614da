#pragma once

#include <atomic>
#include <memory>

#include "qklab/core/progress.hpp"
#include "qklab/lab/data/ranks.hpp"

namespace qklab::experiment {

/// This process among those that mpirun (or another MPI launcher) started together; a process started alone
/// is the only one and never touches MPI. At most one at a time, from the start of the program to its end.
class RankSession {
 public:
  RankSession();
  ~RankSession();
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// How the ranks share the passes over the data of a training run.
  lab::Ranks ranks();

  /// Threads of one rank when each machine's cores are shared out: 0 (all cores) for a process alone.
  int threads() const;

  /// Like `wish`, but all ranks see it at the same place of their work: at the next sum over ranks. A process
  /// alone sees the wish itself. The token must not outlive the session.
  StopToken agreed(StopToken wish);

  /// True once every rank has called it, false when some have not for two seconds: told apart are an error
  /// that all have and one of this rank alone.
  bool all_are_here() const;

  /// Ends every rank at once with an exit status; does nothing in a process alone.
  void abandon(int status) const;

 private:
  struct Aside;

  void sum(std::span<double> total, const lab::AddPart& add);

  int rank_ = 0;
  int size_ = 1;
  int on_this_machine_ = 1;
  StopToken wish_;
  std::atomic<bool> stops_{false};
  std::unique_ptr<Aside> aside_;
};

}  // namespace qklab::experiment
