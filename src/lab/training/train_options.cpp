#include <cmath>

#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
std::string to_string(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::lbfgs:
      return "lbfgs";
    case Optimizer::adam:
      return "adam";
    case Optimizer::gradient_descent:
      return "gradient_descent";
    case Optimizer::amp:
      return "amp";
    case Optimizer::automatic:
      return "auto";
  }
  return "unknown";
}

std::string to_string(std::optional<TokenStorage> storage) {
  if (!storage) return "auto";
  return *storage == TokenStorage::stored ? "stored" : "regenerated";
}

Optimizer parse_optimizer(const std::string& name) {
  return parse_choice(
      "optimizer", name,
      {Optimizer::lbfgs, Optimizer::adam, Optimizer::gradient_descent, Optimizer::amp, Optimizer::automatic});
}

std::optional<TokenStorage> parse_storage(const std::string& name) {
  using Storage = std::optional<TokenStorage>;
  return parse_choice("data", name,
                      {Storage(TokenStorage::stored), Storage(TokenStorage::regenerated), Storage()});
}

TrainOptions checked(TrainOptions options) {
  if (!(options.gradient_tolerance > 0) || !std::isfinite(options.gradient_tolerance)) {
    throw InvalidParameter("gradient_tolerance", options.gradient_tolerance, "must be > 0 and finite");
  }
  if (options.max_epochs < 1) throw InvalidParameter("max_epochs", options.max_epochs, "must be >= 1");
  if (!(options.learning_rate > 0) || !std::isfinite(options.learning_rate)) {
    throw InvalidParameter("learning_rate", options.learning_rate, "must be > 0 and finite");
  }
  if (options.test_samples < 2) {
    throw InvalidParameter("test_samples", static_cast<double>(options.test_samples),
                           "must be >= 2 for a standard error");
  }
  if (!(options.memory >= 0)) throw InvalidParameter("memory", options.memory, "must be >= 0");
  return options;
}

}  // namespace qklab::lab
