#pragma once

#include <memory>

#include "student.hpp"

namespace qklab::lab {

/// The scores that message passing needs: all ordered pairs for an untied student of several tokens, else
/// a <= b.
ScoreLayout matrix_layout(const Problem& problem);

/// The student whose parameters are S itself, without a penalty: symmetric, or any d x d matrix for the
/// layout `full`.
template <class Real>
std::shared_ptr<const Student<Real>> make_matrix_student(const Problem& problem);

}  // namespace qklab::lab
