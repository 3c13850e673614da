#include "amp_labels.hpp"

#include <Eigen/Cholesky>

namespace qklab::lab {

const double* labels_of(int tokens, const AmpBlock& block, std::vector<double>& labels) {
  if (block.gram == nullptr) return block.correlation;
  const auto count = static_cast<std::size_t>(block.count);
  labels.resize(count * tokens * tokens);
  Matrix gram(tokens, tokens);
  Matrix correlation(tokens, tokens);
  for (std::size_t s = 0; s < count; ++s) {
    for (int a = 0, pair = 0; a < tokens; ++a) {
      for (int b = a; b < tokens; ++b, ++pair) gram(a, b) = gram(b, a) = block.gram[pair * count + s];
    }
    for (int ab = 0; ab < tokens * tokens; ++ab) correlation.data()[ab] = block.correlation[ab * count + s];
    const Matrix label = Eigen::LLT<Matrix>(gram).solve(correlation.transpose()).transpose();
    for (int ab = 0; ab < tokens * tokens; ++ab) labels[ab * count + s] = label.data()[ab];
  }
  return labels.data();
}

}  // namespace qklab::lab
