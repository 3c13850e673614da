#include "qklab/theory/generalization/teacher_modes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace qklab::theory {
namespace {

/// sum_j w_j/(s - s_j) and sum_j w_j/(s - s_j)^2 over the other atoms.
struct Repulsion {
  double shift = 0;
  double slope = 0;
};

Repulsion repulsion(const DiscreteLaw& law, std::size_t mode) {
  Repulsion sum;
  for (std::size_t j = 0; j < law.locations.size(); ++j) {
    if (j == mode) continue;
    const double inverse = 1 / (law.locations[mode] - law.locations[j]);
    sum.shift += law.masses[j] * inverse;
    sum.slope += law.masses[j] * inverse * inverse;
  }
  return sum;
}

double learned_value(const StudentSpectrum& spectrum, double location) {
  if (spectrum.parametrization == Parametrization::direct) return spectrum.scale * location;
  return location > spectrum.cut ? spectrum.scale * (location - spectrum.threshold) : 0;
}

double level_of(const StudentSpectrum& spectrum, double student) {
  const double level = student / spectrum.scale;
  if (spectrum.parametrization == Parametrization::direct) return level;
  return spectrum.parametrization == Parametrization::untied && student < 0 ? level - spectrum.threshold
                                                                            : level + spectrum.threshold;
}

}  // namespace

std::vector<TeacherMode> teacher_modes(const StudentSpectrum& spectrum, int dimension) {
  std::vector<TeacherMode> modes;
  const auto* law = std::get_if<DiscreteLaw>(&spectrum.teacher);
  if (law == nullptr) return modes;
  const double variance = spectrum.delta * spectrum.delta;
  for (std::size_t i = law->locations.size(); i-- > 0 && law->locations[i] > 0;) {
    TeacherMode mode;
    mode.teacher = law->locations[i];
    mode.multiplicity = static_cast<int>(std::lround(law->masses[i] * dimension));
    mode.location = std::numeric_limits<double>::quiet_NaN();
    if (spectrum.scale > 0) {
      const Repulsion others = repulsion(*law, i);
      mode.isolated = variance * others.slope < 1;
      if (mode.isolated) {
        mode.location = mode.teacher + variance * others.shift;
        mode.alignment = 1 - variance * others.slope;
        mode.learned = learned_value(spectrum, mode.location);
        mode.recovered = mode.learned > 0;
      }
    }
    modes.push_back(mode);
  }
  return modes;
}

std::vector<Level> level_profile(const StudentSpectrum& spectrum, int points) {
  std::vector<Level> profile;
  const std::vector<Interval> edges = student_edges(spectrum);
  if (edges.empty()) return profile;
  const FreeConvolution mu(spectrum.teacher, spectrum.delta);
  double length = 0;
  for (const Interval& edge : edges) length += edge.hi - edge.lo;
  for (const Interval& edge : edges) {
    const int count = std::max(2, static_cast<int>(std::lround(points * (edge.hi - edge.lo) / length)));
    for (int k = 0; k < count; ++k) {
      const double student = std::lerp(edge.lo, edge.hi, (k + 0.5) / count);
      const double x = level_of(spectrum, student);
      profile.push_back({student, x - 2 * spectrum.delta * spectrum.delta * mu.hilbert(x)});
    }
  }
  return profile;
}

double alignment_density(const StudentSpectrum& spectrum, double x, double s) {
  const FreeConvolution mu(spectrum.teacher, spectrum.delta);
  const double variance = spectrum.delta * spectrum.delta;
  const double distance = x - s - variance * mu.hilbert(x);
  const double width = std::numbers::pi * variance * mu.density(x);
  return variance / (distance * distance + width * width);
}

}  // namespace qklab::theory
