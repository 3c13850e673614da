#include "error_propagation.hpp"

#include <Eigen/Dense>
#include <limits>
#include <optional>
#include <span>

namespace qklab::theory {
namespace {

struct Slopes {
  Eigen::MatrixXd map;          ///< d F / d x
  Eigen::MatrixXd observables;  ///< d observables / d x
};

std::optional<Slopes> slopes_at(const Eigen::VectorXd& x, StateEvolutionMap& coarse) {
  // Wide enough to average over the few sampled points whose proximal map jumps in between.
  constexpr double step = 1e-2;
  Slopes slopes{Eigen::MatrixXd(x.size(), x.size()), Eigen::MatrixXd(observable_count, x.size())};
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    const Eigen::VectorXd shift = step * Eigen::VectorXd::Unit(x.size(), k);
    const auto up = coarse.observe(x + shift);
    const auto down = coarse.observe(x - shift);
    if (!up || !down) return std::nullopt;
    slopes.map.col(k) = (up->front().coordinates - down->front().coordinates) / (2 * step);
    slopes.observables.col(k) = (up->front().values - down->front().values) / (2 * step);
  }
  return slopes;
}

}  // namespace

PropagatedErrors propagate_errors(const Eigen::VectorXd& x, const std::vector<Observation>& observations,
                                  const StateEvolutionMap& map, StateEvolutionMap& coarse) {
  const auto scramblings = static_cast<Eigen::Index>(observations.size()) - 1;
  PropagatedErrors errors{Eigen::VectorXd(scramblings), Eigen::VectorXd(scramblings),
                          Eigen::VectorXd(scramblings), Eigen::MatrixXd(observable_count, scramblings)};
  const std::optional<Slopes> slopes = slopes_at(x, coarse);
  const auto size = x.size();
  const Eigen::MatrixXd response =
      slopes ? Eigen::MatrixXd((Eigen::MatrixXd::Identity(size, size) - slopes->map).inverse())
             : Eigen::MatrixXd::Constant(size, size, std::numeric_limits<double>::quiet_NaN());
  for (Eigen::Index s = 0; s < scramblings; ++s) {
    const Observation& own = observations[s + 1];
    const Eigen::VectorXd shift = response * (own.coordinates - observations.front().coordinates);
    const OrderParameters order = map.order_parameters(x + shift);
    errors.overlap[s] = order.overlap;
    errors.self_overlap[s] = map.self_overlap(order);
    errors.susceptibility[s] = order.susceptibility;
    errors.observables.col(s) = own.values;
    if (slopes) errors.observables.col(s) += slopes->observables * shift;
  }
  return errors;
}

double standard_error(const Eigen::VectorXd& values) {
  return mean_and_error(std::span(values.data(), static_cast<std::size_t>(values.size()))).se;
}

}  // namespace qklab::theory
