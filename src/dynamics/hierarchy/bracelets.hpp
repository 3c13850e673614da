#pragma once

#include <compare>
#include <map>
#include <vector>

namespace qklab::dynamics {

/// A cyclic word up to reversal, as the smallest of its equivalent bit strings: bit i is letter i, 1 for S
/// and 0 for S0.
struct Bracelet {
  unsigned bits = 0;
  int length = 0;

  bool is_student(int position) const { return (bits >> position & 1U) != 0; }
  int students() const;
  auto operator<=>(const Bracelet&) const = default;
};

/// The smallest equivalent of a word.
Bracelet canonical(unsigned bits, int length);

/// A change of one moment: `count` times a product of two moments.
struct WordTerm {
  int first = 0;
  int second = 0;  ///< the empty word, of moment 1, where there is one factor
  double count = 0;
};

/// What each moment with an S of at most `order` letters changes by (docs/theory (10.52), (10.53)).
struct WordEquations {
  explicit WordEquations(int order);

  std::vector<Bracelet> words;                ///< those with an S first, then S0^0 .. S0^order
  int variables = 0;                          ///< how many have an S
  std::vector<std::vector<WordTerm>> growth;  ///< S -> S S, one factor
  std::vector<std::vector<WordTerm>> pull;    ///< S -> S0 S and S S0, one factor
  std::vector<std::vector<WordTerm>> noise;   ///< per e

  int index(unsigned bits, int length) const { return index_.at(canonical(bits, length)); }

 private:
  std::map<Bracelet, int> index_;
};

}  // namespace qklab::dynamics
