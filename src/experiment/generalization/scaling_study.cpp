#include "qklab/experiment/generalization/scaling_study.hpp"

#include <algorithm>
#include <cmath>

#include "qklab/core/error.hpp"

namespace qklab::experiment {
namespace {

/// `count` of `size` places, the first and the last among them where there are several.
std::vector<std::size_t> evenly_spread(std::size_t size, int count) {
  std::vector<std::size_t> places;
  const auto all = std::min<std::size_t>(size, static_cast<std::size_t>(std::max(0, count)));
  for (std::size_t k = 0; k < all; ++k) {
    places.push_back(all == 1 ? size / 2
                              : static_cast<std::size_t>(std::lround(static_cast<double>(k * (size - 1)) /
                                                                     static_cast<double>(all - 1))));
  }
  return places;
}

}  // namespace

std::vector<std::vector<Problem>> sample_series(const Plan& plan) {
  const bool along_samples =
      !plan.axes.empty() && (plan.axes.front().option == "alpha" || plan.axes.front().option == "samples");
  if (!along_samples) {
    throw InvalidParameter(
        "alpha", option_value(plan.points.front(), "alpha"),
        "a scaling law needs several: a list or start:stop:count:log, of alpha or of samples");
  }
  std::vector<std::vector<Problem>> all;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (plan.starts_a_series(i)) all.emplace_back();
    all.back().push_back(plan.points[i]);
  }
  for (std::vector<Problem>& series : all) std::ranges::sort(series, {}, &Problem::alpha);
  return all;
}

ScalingStudy study_scaling(const std::vector<Problem>& series, const theory::ScalingOptions& scaling,
                           const CompareOptions& options, int trained_points) {
  theory::StateEvolution evolution(options.solve);
  ScalingStudy study{theory::scaling_law(series, evolution, scaling), {}};
  for (std::size_t place : evenly_spread(study.law.points.size(), trained_points)) {
    Comparison point{study.law.points[place].solution, {}, study.law.points[place].solution.outcome};
    if (!train_runs(point, options, {})) {
      study.law.outcome = Outcome::interrupted;
      break;
    }
    study.trained.push_back(std::move(point));
  }
  return study;
}

}  // namespace qklab::experiment
