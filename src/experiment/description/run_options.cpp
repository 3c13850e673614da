#include "qklab/experiment/description/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"

namespace qklab::experiment {
namespace {

constexpr long most_samples = 1'000'000'000;

template <class Number>
std::string text(Number value) {
  return fmt::format("{}", value);
}

/// Names are written with dashes on the command line and read with underscores by the lab.
std::string with_underscores(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

Option seed_option() {
  return {"seed", "NUMBER", "every random choice is a function of it", "1"};
}

Option seeds_option() {
  return {"seeds", "NUMBER", "trained runs of each point, with seeds seed, seed + 1, ...", "4"};
}

std::vector<Option> theory_options() {
  const theory::SolveOptions standard;
  return {
      {"log2_points", "NUMBER", "log2 of the number of sampling points", text(standard.qmc.log2_points)},
      {"scramblings", "NUMBER", "independent samplings, for the standard error",
       text(standard.qmc.scramblings)},
      {"tolerance", "NUMBER", "on the residual of the fixed point", text(standard.tolerance)},
  };
}

std::vector<Option> training_options() {
  const lab::TrainOptions standard;
  return {
      {"optimizer", "lbfgs|adam|gradient-descent|amp|auto", "how the objective is minimised",
       to_string(standard.optimizer)},
      {"precision", "f32|f64", "of the matrix products", to_string(standard.precision)},
      {"gradient_tolerance", "NUMBER", "on the gradient, relative to the scale of the objective",
       text(standard.gradient_tolerance)},
      {"max_epochs", "NUMBER", "most passes over the data", text(standard.max_epochs)},
      {"learning_rate", "NUMBER", "first step of adam and gradient-descent", text(standard.learning_rate)},
      {"test_samples", "NUMBER", "fresh samples for the measured test error", text(standard.test_samples)},
      {"data", "stored|regenerated|auto",
       "tokens kept, or drawn again at every pass; auto: kept where they fit", to_string(standard.storage)},
      {"memory", "GIB", "that training may take; else what is available", ""},
  };
}

std::uint64_t seed(const Description& description) {
  return static_cast<std::uint64_t>(
      description.whole_number("seed", 0, std::numeric_limits<std::int64_t>::max()));
}

int seeds(const Description& description) {
  return static_cast<int>(description.whole_number("seeds", 1, 100'000));
}

theory::SolveOptions solve_options(const Description& description) {
  theory::SolveOptions options;
  options.qmc.log2_points = static_cast<int>(description.whole_number("log2_points", 6, 24));
  options.qmc.scramblings = static_cast<int>(description.whole_number("scramblings", 2, 1 << 20));
  options.qmc.seed = seed(description);
  options.qmc = checked(options.qmc);
  options.tolerance = description.number("tolerance");
  if (!(options.tolerance > 0)) throw InvalidParameter("tolerance", options.tolerance, "must be > 0");
  return options;
}

int search_log2_points(const Description& description, const Problem& problem) {
  const auto wanted = static_cast<int>(description.whole_number("log2_points", 6, 24));
  if (description.given("log2_points") || problem.activation != Activation::softmax) return wanted;
  // A proximal problem costs about T^6 operations; each holds T^2 informative scores.
  constexpr std::array affordable{14, 14, 14, 13, 12, 11, 11, 10, 10};
  const auto place = std::min<std::size_t>(static_cast<std::size_t>(problem.tokens), affordable.size() - 1);
  const int scramblings = static_cast<int>(description.whole_number("scramblings", 2, 1 << 20));
  const int fewest = static_cast<int>(std::ceil(std::log2(scramblings))) + 4;
  return std::max({6, affordable[place], fewest});
}

lab::TrainOptions train_options(const Description& description) {
  lab::TrainOptions options;
  options.optimizer = lab::parse_optimizer(with_underscores(description.text("optimizer")));
  options.precision = lab::parse_precision(description.text("precision"));
  options.gradient_tolerance = description.number("gradient_tolerance");
  options.max_epochs =
      static_cast<int>(description.whole_number("max_epochs", 1, std::numeric_limits<int>::max()));
  options.learning_rate = description.number("learning_rate");
  options.test_samples = description.whole_number("test_samples", 2, most_samples);
  options.storage = lab::parse_storage(description.text("data"));
  if (description.given("memory")) {
    const double gibibytes = description.number("memory");
    if (!(gibibytes > 0)) throw InvalidParameter("memory", gibibytes, "must be > 0 (GiB)");
    options.memory = gibibytes * gibibyte;
  }
  if (!has_learning_rate(options.optimizer)) {
    description.refuse("learning_rate", "has no effect with optimizer = " + to_string(options.optimizer));
  }
  return checked(options);
}

bool has_learning_rate(lab::Optimizer optimizer) {
  return optimizer == lab::Optimizer::adam || optimizer == lab::Optimizer::gradient_descent;
}

lab::MemoryNeed require_trainable(const std::vector<Problem>& points, const lab::TrainOptions& options) {
  const bool is_open = options.optimizer == lab::Optimizer::automatic;
  for (const Problem& point : points) {
    lab::require_trainable(point, is_open ? lab::Optimizer::lbfgs : options.optimizer);
  }
  lab::MemoryNeed most;
  for (const Problem& point : points) {
    const lab::MemoryNeed need = lab::memory_need(point, options);
    if (need.bytes > most.bytes) most = need;
  }
  return most;
}

}  // namespace qklab::experiment
