#pragma once

#include "qklab/experiment/comparison/compare.hpp"
#include "qklab/experiment/comparison/spectrum.hpp"
#include "qklab/experiment/document/document.hpp"
#include "qklab/lab/training/train.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
#include "qklab/theory/erm/state_evolution.hpp"

namespace qklab::experiment {

/// The resolved problem, the solution, and the options it was solved with.
Json to_json(const theory::Solution& solution, const theory::SolveOptions& options);

/// The resolved problem without what belongs to a student, the Bayes-optimal reference, and how it was
/// sampled.
Json to_json(const theory::BayesSolution& solution, const theory::SolveOptions& options);

/// The resolved problem, the measurements (eigenvalues on request), and the options of training.
Json to_json(const lab::TrainedRun& run, const lab::TrainOptions& options, bool with_eigenvalues);

/// theory {...}, train {quantity {mean, se}, ..., runs [...]}, deviation {quantity: number}.
Json to_json(const Comparison& comparison, const CompareOptions& options);

/// The same with the Bayes-optimal reference in the place of the theory, which moves to erm {...}; deviation
/// then says what minimising the empirical risk costs.
Json price_json(const Comparison& comparison, const theory::BayesSolution& reference,
                const CompareOptions& options);

/// The solution with its densities on about `points` points, atoms and outliers; where models were trained
/// their eigenvalues and histogram.
Json spectrum_json(const Comparison& comparison, const CompareOptions& options, int points);

}  // namespace qklab::experiment
