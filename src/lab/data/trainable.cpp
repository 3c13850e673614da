#include "qklab/lab/data/trainable.hpp"

#include "qklab/core/error.hpp"
#include "qklab/lab/data/dataset.hpp"

namespace qklab::lab {

void require_trainable(const Problem& problem) {
  checked(problem);
  if (problem.activation != Activation::softmax && problem.activation != Activation::identity) {
    throw InvalidParameter("activation", to_string(problem.activation),
                           "training is available for softmax, identity");
  }
  if (problem.parametrization == Parametrization::direct && problem.kappa != 1) {
    throw InvalidParameter("kappa", problem.kappa, "a direct student has no width: must be 1");
  }
  require_independent_tokens(problem);
}

}  // namespace qklab::lab
