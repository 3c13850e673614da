#include "qklab/spectra/law.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "discrete.hpp"
#include "qklab/core/error.hpp"
#include "semicircle.hpp"
#include "wishart.hpp"

namespace qklab {

DiscreteLaw empirical_law(const std::vector<double>& eigenvalues) {
  if (eigenvalues.empty())
    throw InvalidParameter("eigenvalues", "none", "an empirical law needs at least one");
  for (double s : eigenvalues) {
    if (!std::isfinite(s)) throw InvalidParameter("eigenvalue", s, "must be finite");
  }
  std::vector<double> sorted = eigenvalues;
  std::sort(sorted.begin(), sorted.end());
  DiscreteLaw law;
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto next = std::upper_bound(first, sorted.end(), *first);
    law.locations.push_back(*first);
    law.masses.push_back(static_cast<double>(next - first) / static_cast<double>(sorted.size()));
    first = next;
  }
  return law;
}

Law teacher_law(const Problem& problem) {
  if (const auto* wishart = std::get_if<WishartTeacher>(&problem.teacher)) return WishartLaw{wishart->kappa0};
  if (const auto* power = std::get_if<PowerLawTeacher>(&problem.teacher)) {
    constexpr std::size_t longest = 8192;
    std::vector<double> eigenvalues = power_law_eigenvalues(*power, problem.dimension);
    if (std::ranges::count_if(eigenvalues, [](double s) { return s > 0; }) <=
        static_cast<std::ptrdiff_t>(longest)) {
      return empirical_law(eigenvalues);
    }
    return compressed_law(std::move(eigenvalues), longest / 2);
  }
  return empirical_law(std::get<SpectrumTeacher>(problem.teacher).eigenvalues);
}

std::complex<double> stieltjes(const Law& law, std::complex<double> z) {
  return stieltjes_and_derivative(law, z).first;
}

std::pair<std::complex<double>, std::complex<double>> stieltjes_and_derivative(const Law& law,
                                                                               std::complex<double> z) {
  return std::visit([z](const auto& known) { return spectra::resolvent(known, z); }, law);
}

double moment(const Law& law, int k) {
  if (k < 0 || k > 2) throw InvalidParameter("k", std::to_string(k), "moments 0, 1 and 2 are known");
  return std::visit([k](const auto& known) { return spectra::moment(known, k); }, law);
}

Interval hull(const Law& law) {
  return std::visit([](const auto& known) { return spectra::hull(known); }, law);
}

std::vector<Atom> atoms(const Law& law) {
  std::vector<Atom> found;
  if (const auto* wishart = std::get_if<WishartLaw>(&law); wishart && wishart->kappa0 < 1) {
    found.push_back({0, 1 - wishart->kappa0});
  }
  if (const auto* discrete = std::get_if<DiscreteLaw>(&law)) {
    for (size_t i = 0; i < discrete->locations.size(); ++i) {
      found.push_back({discrete->locations[i], discrete->masses[i]});
    }
  }
  return found;
}

}  // namespace qklab
