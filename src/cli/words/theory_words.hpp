#pragma once

#include <string>

#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::cli {

/// A solution as a list: every quantity with its error and what it means.
std::string solution_list(const theory::Solution& solution);

/// The Bayes-optimal reference as a list.
std::string bayes_list(const theory::BayesSolution& solution);

/// "0.51 at 0, [0, 1.93]": where the eigenvalues of S lie.
std::string spectrum_words(const theory::Solution& solution);

}  // namespace qklab::cli
