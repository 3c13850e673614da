#pragma once

#include <vector>

#include "qklab/experiment/description/description.hpp"
#include "qklab/experiment/learning/dynamics.hpp"
#include "qklab/experiment/learning/weak_recovery.hpp"

namespace qklab::experiment {

/// What learns from whom: the model, its teacher, the student.
std::vector<Option> dynamics_problem_options();
/// How it learns, and how that is followed.
std::vector<Option> dynamics_options();
/// How escape is studied along d.
std::vector<Option> weak_recovery_options();

/// One student to follow, and by which methods.
struct DynamicsCase {
  DynamicsProblem problem;
  /// Each method with the order it is run at (words, truncated); other methods stand once.
  struct Step {
    Method method = Method::exact;
    int order = 0;
  };
  std::vector<Step> steps;
};

/// Every model with every parametrization and dimension that was asked for.
struct DynamicsPlan {
  std::vector<DynamicsCase> cases;  ///< dimension fastest, then parametrization, then model
  DynamicsOptions options;
  int models = 1;
  int parametrizations = 1;
  int dimensions = 1;
};

/// The plan that a description states; every case checked. `theory` among the methods stands for exact,
/// direct or untied, whichever follows the student in the limit of high dimension, and for the matrix flow
/// where none does. Throws InvalidParameter like require_method().
DynamicsPlan dynamics_plan(const Description& description);

/// The options of weak_recovery_options(), with dimensions, start, seeds and precision of the rest.
WeakRecoveryOptions weak_recovery_plan(const Description& description);

}  // namespace qklab::experiment
