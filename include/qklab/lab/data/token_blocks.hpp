#pragma once

#include <vector>

#include "qklab/lab/data/dataset.hpp"

namespace qklab::lab {

/// Reads the tokens of a data set block by block, stored or regenerated: the numbers are bitwise the same.
/// Each thread has its own. The data set must outlive it.
template <class Real>
class TokenBlocks {
 public:
  explicit TokenBlocks(const Dataset<Real>& data) : data_(&data) {}

  /// Rows of d entries, those of this rank's samples first .. first + count - 1 one after another, as in
  /// Dataset::inputs. Valid until the next call.
  const Real* read(long first, int count);

 private:
  const Dataset<Real>* data_;
  std::vector<Real> drawn_;
};

}  // namespace qklab::lab
