#include <cmath>

#include "qklab/core/choice.hpp"
#include "qklab/core/error.hpp"
#include "qklab/lab/online/online_sgd.hpp"

namespace qklab::lab {

OnlineSgdOptions checked(OnlineSgdOptions options) {
  const auto positive = [](const char* name, double value, const char* what) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw InvalidParameter(name, value, std::string(what) + " must be > 0 and finite");
    }
  };
  positive("kappa", options.kappa, "the width ratio p/d");
  positive("start", options.start, "the size of the start");
  positive("step", options.step, "the step size");
  if (options.batch < 1) throw InvalidParameter("batch", options.batch, "must be >= 1");
  if (!(options.weight_decay >= 0) || !std::isfinite(options.weight_decay)) {
    throw InvalidParameter("weight_decay", options.weight_decay, "must be >= 0 and finite");
  }
  if (options.times.empty()) throw InvalidParameter("times", "(none)", "must name at least one time");
  double before = 0;
  for (double time : options.times) {
    if (!(time >= before) || !std::isfinite(time)) {
      throw InvalidParameter("times", time, "must be >= 0, finite and in ascending order");
    }
    before = time;
  }
  for (double threshold : options.thresholds) {
    if (!(threshold > 0 && threshold < 1)) {
      throw InvalidParameter("thresholds", threshold, "an alignment must be in (0, 1)");
    }
  }
  if (options.loss_samples < 2) {
    throw InvalidParameter("loss_samples", static_cast<double>(options.loss_samples), "must be >= 2");
  }
  return options;
}

std::string to_string(DirectStart start) {
  return start == DirectStart::gaussian ? "gaussian" : "product";
}

DirectStart parse_direct_start(const std::string& name) {
  return parse_choice("direct_start", name, {DirectStart::gaussian, DirectStart::product});
}

}  // namespace qklab::lab
