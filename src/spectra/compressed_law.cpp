#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "qklab/core/error.hpp"
#include "qklab/spectra/law.hpp"

namespace qklab {
namespace {

constexpr int atoms_of_a_run = 4;
constexpr double widest_run = 1.05;

/// The Gauss rule of equal weights on the values: nodes and shares (Golub and Welsch), from the recurrence of
/// the polynomials that are orthogonal on the values (Stieltjes).
std::vector<Atom> gauss_rule(std::span<const double> values) {
  const auto count = static_cast<Eigen::Index>(values.size());
  const Eigen::Map<const Eigen::ArrayXd> x(values.data(), count);
  const double center = x.mean();
  const double width = x.maxCoeff() - x.minCoeff();
  const Eigen::ArrayXd t = (x - center) / width;
  Eigen::MatrixXd jacobi = Eigen::MatrixXd::Zero(atoms_of_a_run, atoms_of_a_run);
  Eigen::ArrayXd before = Eigen::ArrayXd::Zero(count);
  Eigen::ArrayXd current = Eigen::ArrayXd::Constant(count, 1 / std::sqrt(static_cast<double>(count)));
  double coupling = 0;
  for (int k = 0; k < atoms_of_a_run; ++k) {
    jacobi(k, k) = (t * current * current).sum();
    const Eigen::ArrayXd next = (t - jacobi(k, k)) * current - coupling * before;
    coupling = std::sqrt(next.square().sum());
    if (k + 1 < atoms_of_a_run) jacobi(k, k + 1) = jacobi(k + 1, k) = coupling;
    before = current;
    current = next / coupling;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(jacobi);
  std::vector<Atom> rule;
  for (int k = 0; k < atoms_of_a_run; ++k) {
    rule.push_back({center + width * eigen.eigenvalues()[k], std::pow(eigen.eigenvectors()(0, k), 2)});
  }
  return rule;
}

/// The end of the run of values that starts at `first`: all within 5 % of it.
std::size_t end_of_run(const std::vector<double>& descending, std::size_t first) {
  std::size_t end = first + 1;
  while (end < descending.size() && descending[end] > 0 &&
         descending[end] * widest_run >= descending[first]) {
    ++end;
  }
  return end;
}

}  // namespace

DiscreteLaw compressed_law(std::vector<double> eigenvalues, std::size_t kept) {
  const DiscreteLaw checked_law = empirical_law(eigenvalues);
  std::ranges::sort(eigenvalues, std::greater<>());
  const double unit = 1 / static_cast<double>(eigenvalues.size());
  std::map<double, double> masses;
  for (std::size_t first = 0; first < eigenvalues.size();) {
    const std::size_t end = first < kept ? first + 1 : end_of_run(eigenvalues, first);
    const std::span<const double> run(eigenvalues.data() + first, end - first);
    const bool is_dense = run.size() > 2 * atoms_of_a_run && run.front() > run.back();
    if (is_dense) {
      for (const Atom& atom : gauss_rule(run)) {
        masses[atom.location] += atom.mass * static_cast<double>(run.size()) * unit;
      }
    } else {
      for (double value : run) masses[value] += unit;
    }
    first = end;
  }
  DiscreteLaw law;
  for (const auto& [location, mass] : masses) {
    law.locations.push_back(location);
    law.masses.push_back(mass);
  }
  return law.locations.size() < checked_law.locations.size() ? law : checked_law;
}

}  // namespace qklab
