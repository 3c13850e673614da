#include "fock_space.hpp"

#include <cmath>

namespace qklab::dynamics {
namespace {

/// Words in the order of their length; word number i of length k + 1 is a letter before one of length k.
struct Word {
  int first = -1;  ///< letter
  int run = 0;     ///< leading letters equal to it
  int length = 0;
};

std::vector<Word> words_over(int letters, int order) {
  std::vector<Word> words = {{}};
  std::size_t begin = 0;
  for (int length = 1; length <= order; ++length) {
    const std::size_t end = words.size();
    for (int letter = 0; letter < letters; ++letter) {
      for (std::size_t rest = begin; rest < end; ++rest) {
        const Word& tail = words[rest];
        words.push_back({letter, tail.first == letter ? tail.run + 1 : 1, length});
      }
    }
    begin = end;
  }
  return words;
}

double at(const std::vector<double>& coefficients, int k) {
  return k < static_cast<int>(coefficients.size()) ? coefficients[k] : 0.0;
}

}  // namespace

std::vector<Eigen::MatrixXd> free_letters(const std::vector<JacobiCoefficients>& laws, int order) {
  const int letters = static_cast<int>(laws.size());
  const std::vector<Word> words = words_over(letters, order);
  const auto size = static_cast<Eigen::Index>(words.size());
  std::vector<Eigen::MatrixXd> matrices(laws.size(), Eigen::MatrixXd::Zero(size, size));
  Eigen::Index level = 0;  // first word of the length of word i
  Eigen::Index next = 1;   // first word longer than it
  for (Eigen::Index i = 0; i < size; ++i) {
    if (i == next) {
      const Eigen::Index width = next - level;
      level = next;
      next += width * letters;
    }
    for (int letter = 0; letter < letters; ++letter) {
      const int run = words[i].first == letter ? words[i].run : 0;
      Eigen::MatrixXd& matrix = matrices[letter];
      matrix(i, i) = at(laws[letter].diagonal, run);
      if (words[i].length == order) continue;
      const Eigen::Index longer = next + letter * (next - level) + (i - level);
      matrix(i, longer) = matrix(longer, i) = at(laws[letter].coupling, run);
    }
  }
  return matrices;
}

double fock_dimension(int letters, int order) {
  return letters == 1 ? order + 1.0 : (std::pow(letters, order + 1) - 1) / (letters - 1);
}

}  // namespace qklab::dynamics
