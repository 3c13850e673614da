#pragma once

#include <atomic>
#include <functional>
#include <string_view>

namespace qklab {

/// One event of a long computation: `done` of `total` units (total <= 0: unknown) of the named stage.
struct Progress {
  std::string_view stage;
  double done = 0;
  double total = 0;
};

/// Receives progress events; may be empty. Called from one thread at a time.
using ProgressCallback = std::function<void(const Progress&)>;

/// Asks a long computation to stop at its next safe point; default-constructed it never does.
class StopToken {
 public:
  StopToken() = default;
  explicit StopToken(const std::atomic<bool>& flag) : flag_(&flag) {}
  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace qklab
