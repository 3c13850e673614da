#pragma once

#include <cstdint>
#include <functional>

#include "hwy/highway.h"

namespace qklab::test {

/// Runs `check` once for every instruction set that is compiled in and that this machine offers, then
/// restores the default choice.
inline void for_every_target(const std::function<void(const char* name)>& check) {
  const std::int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  for (std::int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace qklab::test
