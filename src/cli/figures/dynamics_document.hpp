#pragma once

#include <string>
#include <vector>

#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/learning/dynamics_plan.hpp"

namespace qklab::cli {

/// A student that was followed, by each of its methods.
struct FollowedCase {
  experiment::DynamicsCase what;
  std::vector<experiment::MethodRun> runs;
};

/// What a figure of learning in time can show.
experiment::Option dynamics_quantity_option();
/// Throws InvalidParameter for a name that is no quantity.
std::vector<std::string> dynamics_quantities(const experiment::Description& options);

/// The quantities along tau, a panel for each, and for each model where there are several: theories as lines,
/// descent as points.
experiment::Json dynamics_figure(const experiment::DynamicsPlan& plan, const std::vector<FollowedCase>& cases,
                                 const std::vector<std::string>& quantities);

/// n/d^2 until escape along d, a series for each student, with the fitted laws as lines.
experiment::Json weak_recovery_figure(const experiment::DynamicsPlan& plan,
                                      const experiment::WeakRecoveryOptions& options,
                                      const std::vector<experiment::WeakRecoveryStudy>& studies);

/// "softmax, T = 2, tied student, Wishart teacher, kappa0 = 0.5": what the cases have in common, in plain or
/// mathematical text.
std::string dynamics_title(const experiment::DynamicsPlan& plan, bool mathematical);

/// What tells a case from the others, "" where it is the only one.
std::string case_words(const experiment::DynamicsPlan& plan, const experiment::DynamicsProblem& problem,
                       bool mathematical);

/// "exact", "words, M = 4", "sgd".
std::string method_words(const experiment::MethodRun& run, bool mathematical);

}  // namespace qklab::cli
