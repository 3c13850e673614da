#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "qklab/core/memory.hpp"
#include "qklab/core/threads.hpp"
#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/student/parameters.hpp"
#include "qklab/lab/training/descent.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

/// Code, libraries and the buffers in which BLAS packs matrices.
constexpr double program_bytes = 2e7;
constexpr double blas_bytes_a_thread = 4e6;

double descent_bytes(const Problem& problem, const TrainOptions& options);
std::string description(const Problem& problem);

}  // namespace

MemoryNeed memory_need(const Problem& problem, const TrainOptions& options) {
  const double budget =
      options.memory > 0 ? options.memory : available_memory() / options.ranks.on_this_machine;
  const auto need = [&](TokenStorage storage) {
    return MemoryNeed{storage, memory_estimate(problem, options, storage)};
  };
  const MemoryNeed stored = need(TokenStorage::stored);
  const bool stores = options.storage ? *options.storage == TokenStorage::stored : stored.bytes <= budget;
  const MemoryNeed chosen = stores ? stored : need(TokenStorage::regenerated);
  require_memory(chosen.bytes, budget, fmt::format("dimension = {}", problem.dimension),
                 description(problem));
  return chosen;
}

double memory_estimate(const Problem& problem, const TrainOptions& options, TokenStorage storage) {
  const int bytes_per_real = options.precision == Precision::f32 ? 4 : 8;
  const int threads = thread_budget();
  const double square_matrix = 8.0 * problem.dimension * problem.dimension;
  const bool may_pass_messages =
      options.optimizer == Optimizer::amp || options.optimizer == Optimizer::automatic;
  const double training = (may_pass_messages ? message_passing_bytes(problem, bytes_per_real, threads) : 0) +
                          dataset_bytes(problem, bytes_per_real, storage, threads, options.ranks.size) +
                          objective_bytes(problem, bytes_per_real, threads, options.ranks.size) +
                          descent_bytes(problem, options) + square_matrix;
  const double measuring = measurement_bytes(problem, options.test_samples, threads) + square_matrix;
  return program_bytes + threads * blas_bytes_a_thread + std::max(training, measuring);
}

namespace {

/// Start and gradient beside what the optimiser holds.
double descent_bytes(const Problem& problem, const TrainOptions& options) {
  const bool is_first_order =
      options.optimizer == Optimizer::adam || options.optimizer == Optimizer::gradient_descent;
  const double vectors = is_first_order ? first_order_vectors : lbfgs_vectors;
  return 8 * (vectors + 2) * parameter_count(problem);
}

std::string description(const Problem& problem) {
  const double d = problem.dimension;
  return fmt::format("training on n = {:.6g} samples (alpha = {:g}) with width p = {:.6g} (kappa = {:g})",
                     std::round(problem.alpha * d * d), problem.alpha, std::round(problem.kappa * d),
                     problem.kappa);
}

}  // namespace
}  // namespace qklab::lab
