#include "bracelets.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace qklab::dynamics {
namespace {

/// Letters first .. first + count - 1 of a cyclic word.
unsigned cut(const Bracelet& word, int first, int count) {
  unsigned bits = 0;
  for (int i = 0; i < count; ++i) {
    if (word.is_student((first + i) % word.length)) bits |= 1U << i;
  }
  return bits;
}

/// Terms by their factors, so that equal ones add up.
class TermSum {
 public:
  void add(int first, int second, double count) {
    counts_[{std::min(first, second), std::max(first, second)}] += count;
  }
  std::vector<WordTerm> terms() const {
    std::vector<WordTerm> list;
    for (const auto& [factors, count] : counts_) list.push_back({factors.first, factors.second, count});
    return list;
  }

 private:
  std::map<std::pair<int, int>, double> counts_;
};

}  // namespace

int Bracelet::students() const {
  return std::popcount(bits);
}

Bracelet canonical(unsigned bits, int length) {
  unsigned smallest = bits;
  unsigned reversed = 0;
  for (int i = 0; i < length; ++i) reversed |= (bits >> i & 1U) << (length - 1 - i);
  const unsigned mask = (1U << length) - 1;
  for (unsigned form : {bits, reversed}) {
    for (int turn = 0; turn < length; ++turn) {
      smallest = std::min(smallest, form);
      form = (form >> 1 | form << (length - 1)) & mask;
    }
  }
  return {smallest, length};
}

WordEquations::WordEquations(int order) {
  for (int length = 1; length <= order; ++length) {
    for (unsigned bits = 1; bits < 1U << length; ++bits) {
      if (canonical(bits, length).bits == bits) words.push_back({bits, length});
    }
  }
  variables = static_cast<int>(words.size());
  for (int length = 0; length <= order; ++length) words.push_back({0, length});
  for (int i = 0; i < static_cast<int>(words.size()); ++i) index_[words[i]] = i;
  const int empty = index(0, 0);

  for (int w = 0; w < variables; ++w) {
    const Bracelet& word = words[w];
    const int length = word.length;
    TermSum growing;
    TermSum pulling;
    TermSum noisy;
    for (int i = 0; i < length; ++i) {
      if (!word.is_student(i)) continue;
      const unsigned rest = cut(word, i + 1, length - 1);
      if (length < order) {
        growing.add(index(rest << 2 | 3U, length + 1), empty, 1);
        pulling.add(index(rest << 2 | 1U, length + 1), empty, 1);
        pulling.add(index(rest << 2 | 2U, length + 1), empty, 1);
      }
      // The mean of the noise, e t1 I in place of this S, and for each further S of w = S u S v the
      // martingale part 2 tr(S u) tr(S v) + tr(S S u) tr(v) + tr(u) tr(S S v).
      noisy.add(index(1, 1), index(rest, length - 1), 1);
      for (int j = i + 1; j < length; ++j) {
        if (!word.is_student(j)) continue;
        const int between = j - i - 1;
        const int around = length - 2 - between;
        const unsigned u = cut(word, i + 1, between);
        const unsigned v = cut(word, j + 1, around);
        noisy.add(index(u << 1 | 1U, between + 1), index(v << 1 | 1U, around + 1), 2);
        noisy.add(index(u << 2 | 3U, between + 2), index(v, around), 1);
        noisy.add(index(u, between), index(v << 2 | 3U, around + 2), 1);
      }
    }
    growth.push_back(growing.terms());
    pull.push_back(pulling.terms());
    noise.push_back(noisy.terms());
  }
}

}  // namespace qklab::dynamics
