#pragma once

#include <span>

#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/lab/training/descent.hpp"

namespace qklab::lab {

/// A descent of which the first epochs were iterations of message passing.
struct AmpDescent {
  Descent descent;  ///< epochs counts both
  long iterations = 0;
};

/// Message passing to its fixed point, factors of that S as parameters, then L-BFGS on `function`, the
/// objective of `data`, to the gradient wanted (docs/theory section 9.5). Where messages did not settle and
/// ended higher than `start`, the descent begins there.
///
/// Columns of factors that are zero do not grow by descent. Whether some must is read off the gradient in S
/// after the descent: where a direction outside the range of S would lower the objective, it gets a column,
/// and the descent goes on.
template <class Real>
AmpDescent minimize_amp(const Dataset<Real>& data, const Problem& problem, const Matrix& teacher,
                        const DifferentiableFunction& function, std::span<const double> start,
                        const DescentOptions& options);

}  // namespace qklab::lab
