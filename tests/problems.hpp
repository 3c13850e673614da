#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qklab/core/problem.hpp"

namespace qklab::test {

struct NamedProblem {
  std::string name;
  Problem problem;
};

/// Variations of one problem, under names.
class Variations {
 public:
  explicit Variations(Problem base) : base_(std::move(base)) {}

  template <class Change>
  void add(const char* name, const Change& change) {
    all_.push_back({name, base_});
    change(all_.back().problem);
  }
  const std::vector<NamedProblem>& all() const { return all_; }

 private:
  Problem base_;
  std::vector<NamedProblem> all_;
};

inline void make_identity(Problem& problem, int tokens) {
  problem.activation = Activation::identity;
  problem.tokens = tokens;
}

}  // namespace qklab::test
