#include "qklab/experiment/comparison/spectral_parts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "over_runs.hpp"
#include "qklab/experiment/comparison/spectrum.hpp"

namespace qklab::experiment {
namespace {

/// Mean of the entries of ranks first, ..., first + count - 1 from the top of an ascending list.
double mean_from_top(const std::vector<double>& ascending, int first, int count) {
  double sum = 0;
  for (int k = 0; k < count; ++k)
    sum += ascending[ascending.size() - 1 - static_cast<std::size_t>(first + k)];
  return sum / count;
}

/// Of one trained run, per dimension, what its `recovered` largest eigenvalues hold.
struct Recovered {
  double teacher_square = 0;
  double student_square = 0;
  double overlap = 0;
};

Recovered recovered_of(const lab::TrainedRun& run, const theory::Decomposition& predicted) {
  Recovered sum;
  const auto d = static_cast<double>(run.eigenvalues.size());
  const std::size_t top = run.eigenvalues.size() - static_cast<std::size_t>(predicted.recovered);
  for (std::size_t i = top; i < run.eigenvalues.size(); ++i) {
    const double learned = run.eigenvalues[i];
    const double s = run.teacher_eigenvalues[i];
    // A band is recovered as a whole: its eigenvectors see the teacher at their mean level.
    const double seen = predicted.is_band ? run.teacher_levels[i] : s * run.alignments[i];
    sum.teacher_square += s * s / d;
    sum.student_square += learned * learned / d;
    sum.overlap += learned * seen / d;
  }
  return sum;
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

std::vector<ModeComparison> compare_modes(const Comparison& point, int most) {
  const theory::StudentSpectrum& spectrum = point.theory.spectrum;
  const double shift = spectrum.parametrization == Parametrization::direct ? 0 : spectrum.threshold;
  std::vector<ModeComparison> modes;
  int first = 0;
  for (const theory::TeacherMode& mode : theory::teacher_modes(spectrum, point.theory.problem.dimension)) {
    if (std::ssize(modes) == most) break;
    const int count = mode.multiplicity;
    if (mode.isolated) {
      ModeComparison one{first + 1, mode, {}, {}, {}};
      one.learned = over_runs(point.runs,
                              [&](const auto& run) { return mean_from_top(run.eigenvalues, first, count); });
      one.alignment =
          over_runs(point.runs, [&](const auto& run) { return mean_from_top(run.alignments, first, count); });
      one.location = {one.learned.value / spectrum.scale + shift, one.learned.se / spectrum.scale};
      modes.push_back(one);
    }
    first += count;
  }
  return modes;
}

std::vector<MeasuredLevel> measured_profile(const Comparison& point, int bins) {
  std::vector<std::pair<double, double>> levels;
  for (const lab::TrainedRun& run : point.runs) {
    const double largest = std::max(std::abs(run.eigenvalues.front()), std::abs(run.eigenvalues.back()));
    for (std::size_t i = 0; i < run.eigenvalues.size(); ++i) {
      if (std::abs(run.eigenvalues[i]) <= zero_below * largest) continue;
      levels.emplace_back(run.eigenvalues[i], run.teacher_levels[i]);
    }
  }
  std::ranges::sort(levels);
  std::vector<MeasuredLevel> profile;
  const auto count = static_cast<int>(levels.size());
  for (int bin = 0; bin < bins; ++bin) {
    const int begin = count * bin / bins;
    const int end = count * (bin + 1) / bins;
    if (end - begin < 2) continue;
    MeasuredLevel level;
    std::vector<double> seen;
    for (int i = begin; i < end; ++i) {
      level.student += levels[i].first / (end - begin);
      seen.push_back(levels[i].second);
    }
    level.teacher = mean_and_error(seen);
    profile.push_back(level);
  }
  return profile;
}

MeasuredParts measured_parts(const lab::TrainedRun& run, const theory::Decomposition& predicted) {
  const double c = predicted.scale.value;
  const double q0 = mean_square(run.teacher_eigenvalues);
  const Recovered kept = recovered_of(run, predicted);
  MeasuredParts measured;
  measured.parts = {run.self_overlap - kept.student_square, c * c * (q0 - kept.teacher_square),
                    kept.student_square - 2 * c * kept.overlap + c * c * kept.teacher_square,
                    -2 * c * (run.overlap - kept.overlap)};
  measured.mismatch = predicted.gradient_scale.value * (run.overlap - c * q0);
  measured.remainder = run.test_error.value - predicted.saturation_error.value -
                       predicted.gradient_self_overlap.value * measured.parts.sum() - measured.mismatch;
  return measured;
}

std::vector<Deviation> part_deviations(const Comparison& point, const theory::Decomposition& predicted) {
  const auto compared = [&](const char* quantity, const Estimate& theory,
                            const std::function<double(const lab::TrainedRun&)>& measure) {
    const Estimate trained = over_runs(point.runs, measure);
    return Deviation{quantity, theory, trained, deviation_in_errors(trained, theory)};
  };
  const auto part = [&](const char* quantity, double theory::ErrorParts::*member) {
    return compared(quantity, {predicted.parts.*member, 0}, [&predicted, member](const auto& run) {
      return measured_parts(run, predicted).parts.*member;
    });
  };
  using Parts = theory::ErrorParts;
  return {
      part("overfitting", &Parts::overfitting),
      part("underfitting", &Parts::underfitting),
      part("approximation", &Parts::approximation),
      part("cross", &Parts::cross),
      compared("mismatch", predicted.mismatch,
               [&](const auto& run) { return measured_parts(run, predicted).mismatch; }),
      compared("remainder", predicted.remainder,
               [&](const auto& run) { return measured_parts(run, predicted).remainder; }),
      compared("test_error", predicted.test_error, [](const auto& run) { return run.test_error.value; }),
  };
}

}  // namespace qklab::experiment
